#include "engine/source/compiler_policy.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/util/error.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::source {
namespace {

enum class Takes { nothing, flag, number };

struct Known {
  std::string_view name;
  Takes takes;
};

// NVRTC documentation, "Supported Compile Options".
constexpr std::array kKnown = {Known{"--use_fast_math", Takes::nothing},
                               Known{"--extra-device-vectorization", Takes::nothing},
                               Known{"--restrict", Takes::nothing},
                               Known{"--fmad", Takes::flag},
                               Known{"--ftz", Takes::flag},
                               Known{"--prec-div", Takes::flag},
                               Known{"--prec-sqrt", Takes::flag},
                               Known{"--maxrregcount", Takes::number}};

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= 4 && text.find_first_not_of("0123456789") == text.npos;
}

bool is_known(std::string_view option) {
  const std::size_t equals = option.find('=');
  const auto found = std::ranges::find(kKnown, option.substr(0, equals), &Known::name);
  if (found == kKnown.end()) return false;
  const std::string_view value =
      equals == option.npos ? std::string_view() : option.substr(equals + 1);
  switch (found->takes) {
    case Takes::nothing:
      return equals == option.npos;
    case Takes::flag:
      return value == "true" || value == "false";
    case Takes::number:
      return is_number(value);
  }
  return false;
}

std::string known_options() {
  std::vector<std::string> all;
  for (const Known& known : kKnown)
    all.push_back(std::string(known.name) + (known.takes == Takes::flag     ? "=true|false"
                                             : known.takes == Takes::number ? "=N"
                                                                            : ""));
  return fmt::format("{}", fmt::join(all, ", "));
}

}  // namespace

std::vector<std::string> compile_options(const YamlNode& node) {
  std::vector<std::string> options;
  for (const YamlNode& item : node.items("options")) {
    if (!is_known(item.text("options"))) item.expected("options", "one of " + known_options());
    options.push_back(item.text("options"));
  }
  return options;
}

}  // namespace fa_tune::source
