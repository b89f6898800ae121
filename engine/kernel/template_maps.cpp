#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "engine/base/yaml.hpp"
#include "engine/kernel/template.hpp"

namespace fa_tune {

std::vector<Template::Map> Template::read_maps(const YamlNode& node,
                                               const std::vector<std::string>& arguments) {
  constexpr std::array<std::int64_t, 4> kSwizzles = {0, 32, 64, 128};
  std::vector<Map> result;
  for (const YamlEntry& entry : node.entries("maps")) {
    if (std::ranges::find(arguments, entry.key) == arguments.end())
      entry.value.fail(fmt::format("maps: '{}' is none of the kernel's arguments", entry.key));
    entry.value.check_keys("a map", {"tensor", "box", "swizzle"});
    Map map{entry.key, entry.value.at("tensor").name("tensor"), {}, 0};
    for (const YamlNode& size : entry.value.at("box").items("box"))
      map.box.push_back(Expression::parse(size.text("box"), size.text_mark()));
    if (const YamlNode* swizzle = entry.value.find("swizzle")) {
      map.swizzle_bytes = swizzle->integer("swizzle");
      if (std::ranges::find(kSwizzles, map.swizzle_bytes) == kSwizzles.end())
        swizzle->expected("swizzle", "0, 32, 64 or 128 bytes");
    }
    result.push_back(std::move(map));
  }
  return result;
}

namespace {

// 89 of "sm_89".
int number_of(const std::string& arch) {
  int number = 0;
  for (const char c : arch)
    if (c >= '0' && c <= '9') number = number * 10 + (c - '0');
  return number;
}

}  // namespace

std::optional<std::string> Template::arch_on(const std::string& device_arch) const {
  if (arch_.empty()) return device_arch;
  // "sm_90a" is for compute capability 9.0 alone, a plain "sm_80" for it and what follows.
  const bool bound = std::isdigit(static_cast<unsigned char>(arch_.back())) == 0;
  if (bound) {
    if (arch_.substr(0, arch_.size() - 1) == device_arch) return arch_;
  } else if (number_of(device_arch) >= number_of(arch_)) {
    return device_arch;
  }
  return std::nullopt;
}

}  // namespace fa_tune
