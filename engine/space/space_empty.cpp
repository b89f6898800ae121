#include <algorithm>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "engine/space/space_parts.hpp"
#include "engine/space/space_plan.hpp"
#include "engine/space/space_walk.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune {
namespace {

// How many branches of a space without configs are walked to count what each constraint refuses;
// of larger ones that many are a sample.
constexpr std::uint64_t most_branches = 1'000'000;
constexpr int sampled_configs = 100'000;

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
    if (++branches_ > most_branches) throw TooMany{};
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
  for (int i = 0; i < sampled_configs; ++i) {
    SpacePlan::Cells cells = plan.start(nullptr);
    for (const SpacePlan::Level& level : plan.levels()) {
      cells[level.slot] =
          plan.is_active(level, cells) ? level.values[random.below(level.values.size())] : Cell{};
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

}  // namespace fa_tune
