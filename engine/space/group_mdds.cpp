#include "engine/space/group_mdds.hpp"

#include <algorithm>
#include <expected>
#include <iterator>
#include <utility>

#include "engine/space/parameter_groups.hpp"

namespace fa_tune {
namespace {

// What a group is tried with again and again gets a part of the room, so that all the tries
// together take a few seconds.
constexpr std::size_t part_of_room = 8;

// `is_tried`: the group was too large in its own order.
std::expected<Diagram, TooLarge> build_narrow(const Terms& terms, const ParameterGroup& group,
                                              const SpaceLimits& limits, bool is_tried) {
  const auto order = narrow_order(terms, group);
  if (is_tried && order == group.parameters) return std::unexpected(TooLarge{});
  const Terms ordered(terms.plan(), order);
  return build_diagram(ordered, in_order(ordered, group, order), limits);
}

// Builds a group without some of its constraints.
class Relaxation {
 public:
  Relaxation(const Terms& terms, const ParameterGroup& group, const SpaceLimits& limits)
      : terms_(terms),
        group_(group),
        limits_{limits.key_words / part_of_room, limits.branches / part_of_room} {
    for (const auto& [check, level] : group.checks)
      if (check.step->constraint != nullptr) constraints_.push_back(check);
    std::ranges::stable_sort(constraints_, {},
                             [&](const Terms::Check& check) { return width_of(terms_, check); });
  }

  GroupDiagrams run() {
    if (!build(0))
      throw UserError("space '" + terms_.plan().parts().name +
                      "': what its `when` conditions allow is too much to hold; take values away");
    // The most constraints that there is room for, by halves; all of them were too many.
    std::size_t kept = 0;
    std::size_t too_many = constraints_.size();
    while (kept + 1 < too_many) {
      const std::size_t middle = kept + (too_many - kept) / 2;
      (build(middle) ? kept : too_many) = middle;
    }
    for (std::size_t i = kept; i < constraints_.size(); ++i)
      built_.left_out.push_back(constraints_[i].step);
    return std::move(built_);
  }

 private:
  // With the first `count` constraints; keeps the diagrams if there is room.
  bool build(std::size_t count) {
    const auto kept_end = constraints_.begin() + static_cast<std::ptrdiff_t>(count);
    Terms::Checks checks;
    for (const auto& [check, level] : group_.checks) {
      const auto is_same = [&](const Terms::Check& other) { return other.step == check.step; };
      if (check.step->constraint == nullptr || std::any_of(constraints_.begin(), kept_end, is_same))
        checks.push_back(check);
    }
    std::vector<Diagram> diagrams;
    for (const ParameterGroup& part : group_parameters(terms_, checks)) {
      if (!std::ranges::binary_search(group_.parameters, part.parameters[0])) continue;
      auto diagram = may_fail(terms_, part) ? build_diagram(terms_, part, limits_)
                                            : build_narrow(terms_, part, limits_, false);
      if (!diagram) return false;
      diagrams.push_back(std::move(*diagram));
    }
    built_.diagrams = std::move(diagrams);
    return true;
  }

  const Terms& terms_;
  const ParameterGroup& group_;
  SpaceLimits limits_;
  Terms::Checks constraints_;  // narrow ones first
  GroupDiagrams built_;
};

}  // namespace

GroupDiagrams build_diagrams(const Terms& terms, const SpaceLimits& limits) {
  GroupDiagrams all;
  for (const ParameterGroup& group : group_parameters(terms, terms.checks())) {
    auto diagram = build_diagram(terms, group, limits);
    if (!diagram && !may_fail(terms, group)) diagram = build_narrow(terms, group, limits, true);
    if (diagram) {
      all.diagrams.push_back(std::move(*diagram));
      continue;
    }
    GroupDiagrams relaxed = Relaxation(terms, group, limits).run();
    std::ranges::move(relaxed.diagrams, std::back_inserter(all.diagrams));
    std::ranges::move(relaxed.left_out, std::back_inserter(all.left_out));
  }
  return all;
}

}  // namespace fa_tune
