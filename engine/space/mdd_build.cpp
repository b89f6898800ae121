#include "engine/space/mdd_build.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "engine/space/mdd_state.hpp"

namespace fa_tune {
namespace {

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
        genome_(terms.plan().levels().size(), inactive_gene) {
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
    if (at == levels_.size()) return DiagramWriter::end;
    Level& level = levels_[at];
    make_raw_key(at);
    const auto [raw, is_new] = level.raw.insert(key_);
    if (!is_new) return level.node_of_raw[raw];
    hold(key_.size());
    level.node_of_raw.push_back(DiagramWriter::nowhere);
    if (!residue_.make(at, values_)) return DiagramWriter::nowhere;
    const auto [state, is_new_state] = level.states.insert(residue_.key());
    if (is_new_state) {
      hold(residue_.key().size());
      level.node_of_state.push_back(DiagramWriter::nowhere);
      level.edges.clear();
      branch(at, level);
      level.node_of_state[state] = writer_.add(at, level.edges);
    }
    return level.node_of_raw[raw] = level.node_of_state[state];
  }

  void branch(std::size_t at, Level& level) {
    const std::size_t parameter = group_.parameters[at];
    const TermId activity = terms_.activity(parameter);
    if (activity != no_term) {
      const Cell& active = values_[activity];
      if (active.type != Cell::Type::boolean) terms_.plan().fail_when(parameter, genome_);
      if (active.number == 0) {
        take(at, level, inactive_gene, Cell{});
        return;
      }
    }
    const std::size_t digits = terms_.plan().levels()[parameter].values.size();
    for (std::size_t i = 0; i < digits; ++i) {
      const auto digit = static_cast<Gene>(i);
      take(at, level, digit, terms_.cell(parameter, digit));
    }
  }

  void take(std::size_t at, Level& level, Gene digit, const Cell& cell) {
    if (++branches_ > limits_.branches) throw Stop{};
    const std::size_t parameter = group_.parameters[at];
    genome_[parameter] = digit;
    values_[terms_.value_of(parameter)] = cell;
    for (const TermId id : plan_.computed(at)) values_[id] = terms_.compute(id, values_);
    if (passes_checks(at)) {
      const Diagram::Node child = explore(at + 1);
      if (child != DiagramWriter::nowhere) level.edges.push_back({digit, child});
    }
    genome_[parameter] = inactive_gene;
  }

  bool passes_checks(std::size_t at) const {
    for (const ParameterGroup::PlacedCheck& placed : plan_.checks(at)) {
      const Terms::Check& check = placed.check;
      if (check.applies != no_term && values_[check.applies].number == 0) continue;
      const Cell& value = values_[check.term];
      if (check.step->constraint == nullptr) {
        if (!value.exists()) terms_.plan().fail(*check.step, genome_);
        continue;
      }
      if (value.type != Cell::Type::boolean) terms_.plan().fail(*check.step, genome_);
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
  std::vector<Cell> values_;  // a term; of those that are not complete what an earlier branch left
  Genome genome_;
  std::vector<std::uint64_t> key_;
  std::size_t key_words_ = 0;
  std::size_t branches_ = 0;
};

}  // namespace

std::expected<Diagram, TooLarge> build_diagram(const Terms& terms, const ParameterGroup& group,
                                               const SpaceLimits& limits) {
  try {
    return DiagramBuilder(terms, group, limits).run();
  } catch (const Stop&) {
    return std::unexpected(TooLarge{});
  }
}

}  // namespace fa_tune
