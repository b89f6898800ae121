#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "engine/base/yaml.hpp"
#include "engine/space/space_parts.hpp"
#include "engine/space/space_walk.hpp"

namespace fa_tune {
namespace {

// How many branches may be tried for each config that is allowed: past this a space is refused,
// because its constraints bite too late for its configs to be listed in minutes.
constexpr std::uint64_t branches_per_config = 64;
constexpr std::uint64_t least_branches = 1'000'000;

class Listing {
 public:
  Listing(const SpacePlan& plan, std::uint64_t limit)
      : plan_(plan),
        limit_(limit),
        most_branches_(std::max(least_branches, limit > UINT64_MAX / branches_per_config
                                                    ? UINT64_MAX
                                                    : limit * branches_per_config)),
        below_(plan.levels().size(), 1.0),
        refusals_(plan.parts().constraints.size(), 0.0) {
    for (std::size_t i = below_.size() - 1; i > 0; --i)
      below_[i - 1] = below_[i] * static_cast<double>(plan.levels()[i].values.size());
  }

  bool tries(std::size_t, Gene) {
    if (++branches_ > most_branches_)
      throw UserError(
          fmt::format("space '{}': after {} combinations its {} valid configs are not "
                      "all found; take values away, or put the parameters that a "
                      "constraint mentions next to each other",
                      plan_.parts().name, most_branches_, found_));
    return true;
  }

  void refused(std::size_t level, const SpacePlan::Step& step) {
    refusals_[number_of(step)] += below_[level];
  }

  void found(const Genome& digits) {
    if (++found_ > limit_)
      throw UserError(fmt::format(
          "space '{}' has more than {} valid configs; take values away or add constraints",
          plan_.parts().name, limit_));
    rows_.insert(rows_.end(), digits.begin(), digits.end());
  }

  std::vector<Gene> take_rows() {
    rows_.shrink_to_fit();
    return std::move(rows_);
  }

  [[noreturn]] void refuse_empty(const SpacePlan::Step* constant_refusal) const {
    const std::string who = "no config is valid: ";
    if (constant_refusal != nullptr) {
      const Constraint& constraint = *constant_refusal->constraint;
      throw UserError(prefix(constraint.expression.mark()) + who +
                      quote_text(constraint.expression.text()) + " refuses all" +
                      reason(constraint));
    }
    const auto most = std::ranges::max_element(refusals_);
    double all = 0;
    for (const double count : refusals_) all += count;
    const Constraint& constraint =
        plan_.parts().constraints[static_cast<std::size_t>(most - refusals_.begin())];
    throw UserError(
        prefix(constraint.expression.mark()) + who + quote_text(constraint.expression.text()) +
        fmt::format(" is the first to refuse {:.0f} of {:.0f} combinations", *most, all) +
        reason(constraint));
  }

 private:
  static std::string reason(const Constraint& constraint) {
    return constraint.because.empty() ? "" : ": " + constraint.because;
  }
  std::size_t number_of(const SpacePlan::Step& step) const {
    return static_cast<std::size_t>(step.constraint - plan_.parts().constraints.data());
  }

  const SpacePlan& plan_;
  std::uint64_t limit_;
  std::uint64_t most_branches_;
  std::uint64_t branches_ = 0;
  std::uint64_t found_ = 0;
  std::vector<double> below_;     // combinations below one branch of a level
  std::vector<double> refusals_;  // combinations a constraint was the first to refuse
  std::vector<Gene> rows_;
};

}  // namespace

Space Space::build(SpaceParts parts, std::uint64_t limit) {
  check_parts(parts);
  order_parameters(parts);
  Space space;
  space.hash_ = hash_parts(parts);
  const auto plan = std::make_shared<const SpacePlan>(std::move(parts));
  Listing listing(*plan, limit);
  const SpacePlan::Step* refusal = nullptr;
  SpaceWalk(*plan, listing).run(&refusal);
  std::vector<Gene> rows = listing.take_rows();
  if (rows.empty()) listing.refuse_empty(refusal);
  space.plan_ = plan;
  space.rows_ = std::make_shared<const std::vector<Gene>>(std::move(rows));
  for (const Preset& preset : plan->parts().presets) {
    const std::string who = prefix(preset.mark) + "preset '" + preset.name + "'";
    if (space.preset(preset.name) != nullptr) throw UserError(who + " is defined twice");
    const auto digits = plan->check(preset.config, true);
    if (!digits) throw UserError(who + " is not valid: " + digits.error());
    space.presets_.push_back({preset.name, space.config(*digits), preset.mark});
  }
  return space;
}

}  // namespace fa_tune
