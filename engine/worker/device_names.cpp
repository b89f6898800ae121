#include "engine/worker/device_names.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include <fmt/core.h>

#include "engine/util/error.hpp"

namespace fa_tune {
namespace {

constexpr std::size_t kMostEmulators = 64;

// "emulator:l4*2" is two of them.
void add_emulators(const std::string& part, std::vector<std::string>& names) {
  const std::size_t star = part.rfind('*');
  const std::string_view digits = std::string_view(part).substr(star + 1);
  std::size_t count = 0;
  const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  if (!part.starts_with("emulator") || error != std::errc() ||
      rest != digits.data() + digits.size() || count < 1 || count > kMostEmulators)
    throw UserError(
        fmt::format("--device '{}': only emulators are counted, from 1 to {}, as in emulator:l4*2",
                    part, kMostEmulators));
  names.insert(names.end(), count, part.substr(0, star));
}

}  // namespace

std::vector<std::string> device_names(const std::string& names,
                                      const std::function<std::vector<std::string>()>& list_gpus) {
  std::vector<std::string> single;
  for (std::size_t begin = 0; begin <= names.size();) {
    const std::size_t end = std::min(names.find(',', begin), names.size());
    const std::string part = names.substr(begin, end - begin);
    begin = end + 1;
    if (part.empty() || (part == "auto" && names != part))
      throw UserError(fmt::format(
          "--device '{}': expected auto, or devices with commas between, as in cuda:0,cuda:1",
          names));
    if (part == "cuda:all") {
      const auto gpus = list_gpus();
      if (gpus.empty())
        throw MachineError("--device cuda:all: there is no usable GPU; fa-tune doctor says why");
      single.insert(single.end(), gpus.begin(), gpus.end());
    } else if (part.find('*') != std::string::npos) {
      add_emulators(part, single);
    } else {
      single.push_back(part);
    }
  }
  for (auto name = single.begin(); name != single.end(); ++name)
    if (name->starts_with("cuda") && std::find(single.begin(), name, *name) != name)
      throw UserError(fmt::format(
          "--device '{}': {} is named twice, and two kernels on one GPU disturb each other's times",
          names, *name));
  return single;
}

}  // namespace fa_tune
