#include <algorithm>
#include <set>

#include <fmt/core.h>

#include "engine/space/space_plan.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune {
namespace {

std::string list_values(const Parameter& parameter) {
  constexpr std::size_t most_shown = 12;
  std::string text;
  for (std::size_t i = 0; i < parameter.values.size(); ++i) {
    if (i == most_shown) return text + ", ...";
    text += (i == 0 ? "" : ", ") + to_text(parameter.values[i]);
  }
  return text;
}

}  // namespace

std::optional<Gene> digit_of(const Parameter& parameter, const Value& value) {
  const auto found = std::ranges::find(parameter.values, value);
  if (found == parameter.values.end()) return std::nullopt;
  return static_cast<Gene>(found - parameter.values.begin());
}

std::optional<std::string> SpacePlan::odd_name(const Config& config) const {
  std::set<std::string> seen;
  std::vector<std::string> known;
  known.reserve(parts_.parameters.size());
  for (const Parameter& parameter : parts_.parameters) known.push_back(parameter.name);
  for (const auto& [name, value] : config.settings()) {
    if (std::ranges::find(known, name) == known.end())
      return "unknown parameter " + quote_text(name) + did_you_mean(name, known);
    if (!seen.insert(name).second) return "parameter '" + name + "' is given twice";
  }
  return std::nullopt;
}

std::string SpacePlan::describe_refusal(const Step& step, const Cells& cells) const {
  const Expression& expression = *step.compiled.expression;
  std::string text = "it breaks " + quote_text(expression.text());
  const std::string place = prefix(expression.mark());
  if (!place.empty()) text += " (" + place.substr(0, place.size() - 2) + ")";
  for (std::size_t i = 0; i < step.compiled.slots.size(); ++i)
    text += (i == 0 ? ", where " : ", ") + expression.names()[i] + " = " +
            to_text(cells[step.compiled.slots[i]].value());
  const std::string& because = step.constraint->because;
  return because.empty() ? text : text + ": " + because;
}

std::expected<Genome, std::string> SpacePlan::check(const Config& config, bool complete) const {
  if (const auto problem = odd_name(config)) return std::unexpected(*problem);
  try {
    Genome digits;
    const Step* refusal = nullptr;
    Cells cells = start(&refusal);
    if (refusal != nullptr) return std::unexpected(describe_refusal(*refusal, cells));
    for (std::size_t i = 0; i < levels_.size(); ++i) {
      const Parameter& parameter = parts_.parameters[i];
      const Level& level = levels_[i];
      const Value* value = config.find(parameter.name);
      Gene digit = inactive_gene;
      if (!is_active(level, cells)) {
        if (value != nullptr)
          return std::unexpected("parameter '" + parameter.name +
                                 "' does not exist here: it needs " +
                                 quote_text(parameter.when->text()));
      } else if (value == nullptr && complete && parameter.values.size() == 1) {
        digit = 0;
      } else if (value == nullptr) {
        return std::unexpected("parameter '" + parameter.name +
                               "' is missing, expected one of: " + list_values(parameter));
      } else if (const auto found = digit_of(parameter, *value)) {
        digit = *found;
      } else {
        return std::unexpected(fmt::format("{} = {} is not one of: {}", parameter.name,
                                           quote_text(to_text(*value)), list_values(parameter)));
      }
      digits.push_back(digit);
      cells[level.slot] = digit == inactive_gene ? Cell{} : level.values[digit];
      if (const Step* step = run(level, cells))
        return std::unexpected(describe_refusal(*step, cells));
    }
    return digits;
  } catch (const UserError& error) {
    return std::unexpected(error.what());
  }
}

std::optional<Genome> SpacePlan::digits_of(const Config& config) const {
  Genome digits;
  std::size_t found = 0;
  for (const Parameter& parameter : parts_.parameters) {
    const Value* value = config.find(parameter.name);
    const auto digit =
        value == nullptr ? std::optional(inactive_gene) : digit_of(parameter, *value);
    if (!digit) return std::nullopt;
    if (value != nullptr) ++found;
    digits.push_back(*digit);
  }
  if (found != config.settings().size()) return std::nullopt;
  return digits;
}

Constants SpacePlan::derived(const Config& config) const {
  Cells cells = start(nullptr);
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    const Value* value = config.find(parts_.parameters[i].name);
    cells[levels_[i].slot] = value == nullptr ? Cell{} : Cell::of(*value);
    clear_other_templates(levels_[i], cells);
    for (const Step& step : levels_[i].steps)
      if (step.constraint == nullptr) derive(step, cells);
  }
  Constants result;
  for (const Derived& derived : parts_.derived) {
    const Cell& cell = cells[slots_.at(derived.name)];
    if (cell.exists()) result[derived.name] = cell.value();
  }
  return result;
}

}  // namespace fa_tune
