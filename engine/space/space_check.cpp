#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "engine/space/space_parts.hpp"
#include "engine/space/space_plan.hpp"
#include "engine/space/space_walk.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::space {
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
  const expression::Expression& expression = *step.compiled.expression;
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
      Gene digit = kInactiveGene;
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
      cells[level.slot] = digit == kInactiveGene ? expression::Cell{} : level.values[digit];
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
        value == nullptr ? std::optional(kInactiveGene) : digit_of(parameter, *value);
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
    cells[levels_[i].slot] = value == nullptr ? expression::Cell{} : expression::Cell::of(*value);
    clear_other_templates(levels_[i], cells);
    for (const Step& step : levels_[i].steps)
      if (step.constraint == nullptr) derive(step, cells);
  }
  Constants result;
  for (const Derived& derived : parts_.derived) {
    const expression::Cell& cell = cells[slots_.at(derived.name)];
    if (cell.exists()) result[derived.name] = cell.value();
  }
  return result;
}

namespace {

// How many branches of a space without configs are walked to count what each constraint refuses;
// of larger ones that many are a sample.
constexpr std::uint64_t kMostBranches = 1'000'000;
constexpr int kSampledConfigs = 100'000;

std::string reason(const Constraint& constraint) {
  return constraint.because.empty() ? "" : ": " + constraint.because;
}

// Counts for each constraint the combinations that it is the first to refuse.
class Refusals {
 public:
  explicit Refusals(const SpacePlan& plan)
      : plan_(plan),
        below_(plan.levels().size(), 1.0),
        counts_(plan.parts().constraints.size(), 0.0) {
    for (std::size_t i = below_.size() - 1; i > 0; --i)
      below_[i - 1] = below_[i] * static_cast<double>(plan.levels()[i].values.size());
  }

  struct TooMany {};
  bool tries(std::size_t, Gene) {
    if (++branches_ > kMostBranches) throw TooMany{};
    return true;
  }
  void refused(std::size_t level, const SpacePlan::Step& step) { add(step, below_[level]); }
  void found(const Genome&) const {}

  void add(const SpacePlan::Step& step, double combinations) {
    counts_[static_cast<std::size_t>(step.constraint - plan_.parts().constraints.data())] +=
        combinations;
  }
  void clear() { std::ranges::fill(counts_, 0.0); }

  // The constraint with the most, what it refuses and what all of them refuse.
  struct Most {
    const Constraint& constraint;
    double count;
    double all;
  };
  Most most() const {
    const auto most = std::ranges::max_element(counts_);
    double all = 0;
    for (const double count : counts_) all += count;
    return {plan_.parts().constraints[static_cast<std::size_t>(most - counts_.begin())], *most,
            all};
  }

 private:
  const SpacePlan& plan_;
  std::uint64_t branches_ = 0;
  std::vector<double> below_;   // combinations below one branch of a level
  std::vector<double> counts_;  // a constraint
};

// Random values for every parameter, until a constraint refuses.
void sample(const SpacePlan& plan, Refusals& refusals) {
  Random random(derive_seed(0, "a space without configs"));
  for (int i = 0; i < kSampledConfigs; ++i) {
    SpacePlan::Cells cells = plan.start(nullptr);
    for (const SpacePlan::Level& level : plan.levels()) {
      cells[level.slot] = plan.is_active(level, cells)
                              ? level.values[random.below(level.values.size())]
                              : expression::Cell{};
      const SpacePlan::Step* step = plan.run(level, cells);
      if (step == nullptr) continue;
      refusals.add(*step, 1);
      break;
    }
  }
}

}  // namespace

void refuse_all(const Constraint& constraint) {
  throw UserError(prefix(constraint.expression.mark()) + "no config is valid: " +
                  quote_text(constraint.expression.text()) + " refuses all" + reason(constraint));
}

void refuse_empty(const SpacePlan& plan) {
  Refusals refusals(plan);
  const char* combinations = "combinations";
  try {
    SpaceWalk(plan, refusals).run();
  } catch (const Refusals::TooMany&) {
    refusals.clear();
    sample(plan, refusals);
    combinations = "random combinations";
  }
  const auto [constraint, count, all] = refusals.most();
  throw UserError(
      prefix(constraint.expression.mark()) +
      "no config is valid: " + quote_text(constraint.expression.text()) +
      fmt::format(" is the first to refuse {:.0f} of {:.0f} {}", count, all, combinations) +
      reason(constraint));
}

}  // namespace fa_tune::space
