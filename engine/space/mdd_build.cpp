#include "engine/space/mdd_build.hpp"

#include <algorithm>
#include <expected>
#include <iterator>
#include <span>
#include <utility>

#include "engine/space/mdd_state.hpp"
#include "engine/space/parameter_groups.hpp"

namespace fa_tune::space {
namespace {

struct TooLarge {};
struct Stop {};  // a limit was reached

// Depth first over the digits of a group's parameters. What is left to be decided at a level, its
// state, is looked up before it is explored: first as the plain values of the terms that later
// levels need (quick to make, and it finds most of the states seen before), then as a Residue,
// which knows that some of these values cannot matter any more.
class DiagramBuilder {
 public:
  DiagramBuilder(const Terms& terms, const ParameterGroup& group, const SpaceLimits& limits)
      : terms_(terms),
        group_(group),
        limits_(limits),
        plan_(terms, group),
        residue_(terms, group, plan_),
        writer_(group.parameters),
        levels_(group.parameters.size()),
        values_(terms.size()),
        genome_(terms.plan().levels().size(), kInactiveGene) {
    for (TermId id = 0; id < terms.size(); ++id)
      if (plan_.is_constant(id)) values_[id] = terms.compute(id, values_);
  }

  Diagram run() && {
    const Diagram::Node root = explore(0);
    return std::move(writer_).finish(root);
  }

 private:
  struct Level {
    KeyTable raw;
    std::vector<Diagram::Node> node_of_raw;
    KeyTable states;
    std::vector<Diagram::Node> node_of_state;
    std::vector<DiagramWriter::Edge> edges;  // of the state under way
  };

  Diagram::Node explore(std::size_t at) {
    if (at == levels_.size()) return DiagramWriter::kEnd;
    Level& level = levels_[at];
    make_raw_key(at);
    const auto [raw, is_new] = level.raw.insert(key_);
    if (!is_new) return level.node_of_raw[raw];
    hold(key_.size());
    level.node_of_raw.push_back(DiagramWriter::kNowhere);
    if (!residue_.make(at, values_)) return DiagramWriter::kNowhere;
    const auto [state, is_new_state] = level.states.insert(residue_.key());
    if (is_new_state) {
      hold(residue_.key().size());
      level.node_of_state.push_back(DiagramWriter::kNowhere);
      level.edges.clear();
      branch(at, level);
      level.node_of_state[state] = writer_.add(at, level.edges);
    }
    return level.node_of_raw[raw] = level.node_of_state[state];
  }

  void branch(std::size_t at, Level& level) {
    const std::size_t parameter = group_.parameters[at];
    const TermId activity = terms_.activity(parameter);
    if (activity != kNoTerm) {
      const expression::Cell& active = values_[activity];
      if (active.type != expression::Cell::Type::boolean)
        terms_.plan().fail_when(parameter, genome_);
      if (active.number == 0) {
        take(at, level, kInactiveGene, expression::Cell{});
        return;
      }
    }
    const std::size_t digits = terms_.plan().levels()[parameter].values.size();
    for (std::size_t i = 0; i < digits; ++i) {
      const auto digit = static_cast<Gene>(i);
      take(at, level, digit, terms_.cell(parameter, digit));
    }
  }

  void take(std::size_t at, Level& level, Gene digit, const expression::Cell& cell) {
    if (++branches_ > limits_.branches) throw Stop{};
    const std::size_t parameter = group_.parameters[at];
    genome_[parameter] = digit;
    values_[terms_.value_of(parameter)] = cell;
    for (const TermId id : plan_.computed(at)) values_[id] = terms_.compute(id, values_);
    if (passes_checks(at)) {
      const Diagram::Node child = explore(at + 1);
      if (child != DiagramWriter::kNowhere) level.edges.push_back({digit, child});
    }
    genome_[parameter] = kInactiveGene;
  }

  bool passes_checks(std::size_t at) const {
    for (const ParameterGroup::PlacedCheck& placed : plan_.checks(at)) {
      const Terms::Check& check = placed.check;
      if (check.applies != kNoTerm && values_[check.applies].number == 0) continue;
      const expression::Cell& value = values_[check.term];
      if (check.step->constraint == nullptr) {
        if (!value.exists()) terms_.plan().fail(*check.step, genome_);
        continue;
      }
      if (value.type != expression::Cell::Type::boolean) terms_.plan().fail(*check.step, genome_);
      if (value.number == 0) return false;
    }
    return true;
  }

  void make_raw_key(std::size_t at) {
    key_.clear();
    for (const TermId id : plan_.live(at)) append_cell(key_, values_[id]);
  }

  void hold(std::size_t words) {
    constexpr std::size_t words_around_key = 4;  // its slots, its start, its node
    key_words_ += words + words_around_key;
    if (key_words_ > limits_.key_words) throw Stop{};
  }

  const Terms& terms_;
  const ParameterGroup& group_;
  SpaceLimits limits_;
  LevelPlan plan_;
  Residue residue_;
  DiagramWriter writer_;
  std::vector<Level> levels_;
  std::vector<expression::Cell>
      values_;  // a term; of those that are not complete what an earlier branch left
  Genome genome_;
  std::vector<std::uint64_t> key_;
  std::size_t key_words_ = 0;
  std::size_t branches_ = 0;
};

// The diagram of a group; empty if nothing is valid. Throws UserError for an expression that fails
// for some config that the checks before it let through.
std::expected<Diagram, TooLarge> build_diagram(const Terms& terms, const ParameterGroup& group,
                                               const SpaceLimits& limits) {
  try {
    return DiagramBuilder(terms, group, limits).run();
  } catch (const Stop&) {
    return std::unexpected(TooLarge{});
  }
}

// What a group is tried with again and again gets a part of the room, so that all the tries
// together take a few seconds.
constexpr std::size_t kPartOfRoom = 8;

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
        limits_{limits.key_words / kPartOfRoom, limits.branches / kPartOfRoom} {
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

}  // namespace fa_tune::space
