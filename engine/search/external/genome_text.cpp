#include "engine/search/external/genome_text.hpp"

#include <algorithm>

#include "engine/util/error.hpp"

namespace fa_tune {
namespace {

// Whether the parameter cannot exist beside the earlier ones that `config` holds. Where its `when`
// mentions a derived value the answer is no, and the space has the last word.
bool is_absent(const Parameter& parameter, const Config& config, const SpaceParts& parts) {
  if (!parameter.when) return false;
  const auto look_up = [&](const std::string& name) -> const Value* {
    if (const Value* value = config.find(name)) return value;
    const auto constant = parts.constants.find(name);
    return constant == parts.constants.end() ? nullptr : &constant->second;
  };
  for (const std::string& name : parameter.when->names())
    if (look_up(name) == nullptr)
      return std::ranges::find(parts.parameters, name, &Parameter::name) != parts.parameters.end();
  return !parameter.when->evaluate_bool(look_up);
}

}  // namespace

std::expected<Config, std::string> read_genome(const Space& space, const std::string& json) {
  const SpaceParts& parts = space.parts();
  try {
    const Config given = Config::from_json(json);
    Config config;
    for (const Parameter& parameter : parts.parameters)
      if (const Value* value = given.find(parameter.name))
        if (!is_absent(parameter, config, parts)) config.set(parameter.name, *value);
    // Names that the space does not know are left in, for it to complain of.
    for (const auto& [name, value] : given.settings())
      if (std::ranges::find(parts.parameters, name, &Parameter::name) == parts.parameters.end())
        config.set(name, value);
    if (const auto problem = space.why_invalid(config)) return std::unexpected(*problem);
    return config;
  } catch (const UserError& error) {
    return std::unexpected(error.what());
  }
}

}  // namespace fa_tune
