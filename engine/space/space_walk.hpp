#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/space/space_plan.hpp"

// Private to engine/space.
namespace fa_tune::space {

// Backtracking over all configs of a plan in lexicographic order of their digits; a branch ends
// where a constraint refuses it. `Visitor` has
//   bool tries(std::size_t level, Gene digit)   whether to go down this branch
//   void refused(std::size_t level, const SpacePlan::Step&)
//   void found(const Genome&)
template <typename Visitor>
class SpaceWalk {
 public:
  SpaceWalk(const SpacePlan& plan, Visitor& visitor)
      : plan_(plan), visitor_(visitor), digits_(plan.levels().size(), kInactiveGene) {}

  // Lists nothing where the constants alone are refused; `refusal` says by which step.
  void run(const SpacePlan::Step** refusal = nullptr) {
    const SpacePlan::Step* step = nullptr;
    cells_ = plan_.start(&step);
    if (refusal != nullptr) *refusal = step;
    if (step == nullptr) descend(0);
  }

 private:
  void descend(std::size_t at) {
    if (at == plan_.levels().size()) {
      visitor_.found(digits_);
      return;
    }
    const SpacePlan::Level& level = plan_.levels()[at];
    if (!plan_.is_active(level, cells_)) {
      take(at, level, kInactiveGene, expression::Cell{});
      return;
    }
    for (std::size_t i = 0; i < level.values.size(); ++i) {
      const auto digit = static_cast<Gene>(i);
      if (visitor_.tries(at, digit)) take(at, level, digit, level.values[i]);
    }
  }

  void take(std::size_t at, const SpacePlan::Level& level, Gene digit,
            const expression::Cell& cell) {
    digits_[at] = digit;
    cells_[level.slot] = cell;
    if (const SpacePlan::Step* step = plan_.run(level, cells_))
      visitor_.refused(at, *step);
    else
      descend(at + 1);
  }

  const SpacePlan& plan_;
  Visitor& visitor_;
  Genome digits_;
  SpacePlan::Cells cells_;
};

}  // namespace fa_tune::space
