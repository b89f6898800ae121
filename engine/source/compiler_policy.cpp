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

std::vector<CompileOption> compile_options(const YamlNode& node,
                                           const std::vector<std::string>& parameters) {
  std::vector<CompileOption> options;
  for (const YamlNode& item : node.items("options")) {
    const CompileOption option{item.text("options"), item.text_mark()};
    const std::string name = named_value(option);
    if (!is_known(option.text)) {
      if (name.empty()) item.expected("options", "one of " + known_options());
      if (std::ranges::find(parameters, name) == parameters.end())
        item.fail("options: '" + name + "' is neither a value nor a parameter" +
                  did_you_mean(name, parameters));
    }
    options.push_back(option);
  }
  return options;
}

std::string named_value(const CompileOption& option) {
  const std::size_t equals = option.text.find('=');
  if (equals == option.text.npos || is_known(option.text)) return {};
  const auto found =
      std::ranges::find(kKnown, std::string_view(option.text).substr(0, equals), &Known::name);
  const std::string name = option.text.substr(equals + 1);
  return found != kKnown.end() && found->takes != Takes::nothing && is_identifier(name) ? name : "";
}

std::string with_value(const CompileOption& option,
                       const std::function<std::string(const std::string& name)>& value_of) {
  const std::string name = named_value(option);
  if (name.empty()) return option.text;
  const std::string text = option.text.substr(0, option.text.find('=') + 1) + value_of(name);
  if (!is_known(text))
    throw UserError(fmt::format("{}options: {} is not among {}", prefix(option.mark),
                                quote_text(text), known_options()));
  return text;
}

}  // namespace fa_tune::source
