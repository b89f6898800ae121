#include "engine/space/parameter_groups.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace fa_tune {
namespace {

// Disjoint sets of parameters; the first of a set stands for it.
class Union {
 public:
  explicit Union(std::size_t size) : leader_(size) {
    std::iota(leader_.begin(), leader_.end(), std::size_t{0});
  }
  std::size_t find(std::size_t i) const {
    while (leader_[i] != i) i = leader_[i];
    return i;
  }
  void join(std::size_t a, std::size_t b) {
    const std::size_t one = find(a);
    const std::size_t other = find(b);
    leader_[std::max(one, other)] = std::min(one, other);
  }

 private:
  std::vector<std::size_t> leader_;
};

std::set<std::size_t> parameters_of(const Terms& terms, const Terms::Check& check) {
  std::set<std::size_t> result = terms.parameters_of(check.term);
  result.merge(terms.parameters_of(check.applies));
  return result;
}

// From the last parameter that a check depends on, as a level, to the level where it is tried.
// Where some expression might fail, that is as late as SpacePlan has it, behind parameters that
// leave no choice: which configs meet the error depends on which checks come first.
void place_checks(const Terms& terms, ParameterGroup& group) {
  const auto& parameters = group.parameters;
  const bool keep_order = may_fail(terms, group);
  for (ParameterGroup::PlacedCheck& placed : group.checks) {
    const std::size_t last = keep_order ? placed.check.parameter : placed.level;
    placed.level =
        static_cast<std::size_t>(std::ranges::upper_bound(parameters, last) - parameters.begin()) -
        1;
  }
  std::ranges::stable_sort(group.checks, {}, &ParameterGroup::PlacedCheck::level);
}

class ListDiagram {
 public:
  ListDiagram(std::size_t width, const std::vector<Genome>& genomes)
      : genomes_(genomes), edges_(width), writer_(all(width)) {}

  Diagram run() && {
    const Diagram::Node root = node(0, 0, genomes_.size());
    return std::move(writer_).finish(root);
  }

 private:
  static std::vector<std::size_t> all(std::size_t width) {
    std::vector<std::size_t> parameters(width);
    std::iota(parameters.begin(), parameters.end(), std::size_t{0});
    return parameters;
  }

  // Of the sorted genomes from `first` to `last`, which agree up to `level`.
  Diagram::Node node(std::size_t level, std::size_t first, std::size_t last) {
    if (first == last) return DiagramWriter::nowhere;
    if (level == edges_.size()) return DiagramWriter::end;
    edges_[level].clear();
    while (first < last) {
      const Gene digit = genomes_[first][level];
      std::size_t next = first;
      while (next < last && genomes_[next][level] == digit) ++next;
      const Diagram::Node child = node(level + 1, first, next);
      edges_[level].push_back({digit, child});
      first = next;
    }
    return writer_.add(level, edges_[level]);
  }

  const std::vector<Genome>& genomes_;
  std::vector<std::vector<DiagramWriter::Edge>> edges_;  // of the node under way at a level
  DiagramWriter writer_;
};

}  // namespace

std::vector<ParameterGroup> group_parameters(const Terms& terms, const Terms::Checks& checks) {
  const std::size_t count = terms.plan().levels().size();
  Union sets(count);
  for (std::size_t i = 0; i < count; ++i)
    for (const std::size_t other : terms.parameters_of(terms.activity(i))) sets.join(i, other);
  for (const Terms::Check& check : checks) {
    const auto parameters = parameters_of(terms, check);
    for (const std::size_t parameter : parameters) sets.join(*parameters.begin(), parameter);
  }

  std::map<std::size_t, ParameterGroup> groups;  // by first parameter
  for (std::size_t i = 0; i < count; ++i) groups[sets.find(i)].parameters.push_back(i);
  for (const Terms::Check& check : checks) {
    const auto parameters = parameters_of(terms, check);
    const std::size_t last = parameters.empty() ? check.parameter : *parameters.rbegin();
    groups[sets.find(last)].checks.push_back({check, last});
  }
  std::vector<ParameterGroup> result;
  for (auto& [first, group] : groups) {
    place_checks(terms, group);
    result.push_back(std::move(group));
  }
  return result;
}

bool may_fail(const Terms& terms, const ParameterGroup& group) {
  const auto check_may = [&](const auto& placed) { return terms.may_fail(placed.check); };
  const auto when_may = [&](std::size_t parameter) {
    const TermId activity = terms.activity(parameter);
    return activity != no_term && terms.range(activity).may_fail;
  };
  return std::ranges::any_of(group.checks, check_may) ||
         std::ranges::any_of(group.parameters, when_may);
}

std::size_t width_of(const Terms& terms, const Terms::Check& check) {
  return parameters_of(terms, check).size();
}

Diagram diagram_of_list(std::size_t parameters, std::vector<Genome> genomes) {
  std::ranges::sort(genomes);
  const auto twice = std::ranges::unique(genomes);
  genomes.erase(twice.begin(), twice.end());
  return ListDiagram(parameters, genomes).run();
}

}  // namespace fa_tune
