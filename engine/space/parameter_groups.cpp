#include "engine/space/parameter_groups.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace fa_tune::space {
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
    if (first == last) return DiagramWriter::kNowhere;
    if (level == edges_.size()) return DiagramWriter::kEnd;
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
    return activity != kNoTerm && terms.range(activity).may_fail;
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

namespace {

// Greedy: the next parameter is the one after which the terms that are complete and still asked for
// have the fewest values, as the product of what each could be. The complete parts of a sum or
// product count as one term: Terms adds them up in whatever order they come.
class NarrowOrder {
 public:
  NarrowOrder(const Terms& terms, const ParameterGroup& group)
      : terms_(terms),
        group_(group),
        is_placed_(terms.plan().levels().size(), true),
        parents_(terms.size()),
        needs_(terms.plan().levels().size()) {
    for (const std::size_t parameter : group.parameters) {
      is_placed_[parameter] = false;
      needs_[parameter] = terms.parameters_of(terms.activity(parameter));
    }
    for (const auto& [check, level] : group.checks)
      for (const TermId root : {check.applies, check.term}) add_root(root);
    for (const std::size_t parameter : group.parameters) add_root(terms.activity(parameter));
    for (TermId id = 0; id < terms.size(); ++id) parameters_.push_back(terms.parameters_of(id));
  }

  std::vector<std::size_t> run() {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < group_.parameters.size(); ++i) {
      order.push_back(best());
      is_placed_[order.back()] = true;
    }
    return order;
  }

 private:
  void add_root(TermId id) {
    if (id == kNoTerm) return;
    add(id);
  }
  void add(TermId id) {
    if (!asked_.insert(id).second) return;
    const std::vector<TermId> parts = terms_.parts_of(id);
    for (const TermId part : parts) add(part);
    if (!parts.empty()) {
      sums_.emplace_back(id, parts);
      return;
    }
    for (const TermId child : terms_[id].children) {
      add(child);
      parents_[child].push_back(id);
    }
  }

  bool is_complete(TermId id) const {
    return std::ranges::all_of(parameters_[id], [&](std::size_t i) { return is_placed_[i]; });
  }

  std::size_t best() {
    std::optional<std::size_t> best;
    double least = 0;
    for (const std::size_t parameter : group_.parameters) {
      const auto placed = [&](std::size_t i) { return is_placed_[i]; };
      if (is_placed_[parameter] || !std::ranges::all_of(needs_[parameter], placed)) continue;
      is_placed_[parameter] = true;
      const double width = width_now();
      is_placed_[parameter] = false;
      if (best && width >= least) continue;
      best = parameter;
      least = width;
    }
    return *best;
  }

  // The logarithm of how many states there may be.
  double width_now() const {
    double width = 0;
    for (const TermId id : asked_) {
      if (parameters_[id].empty() || !is_complete(id)) continue;
      const auto open = [&](TermId parent) { return !is_complete(parent); };
      if (std::ranges::any_of(parents_[id], open)) width += std::log(values_of(id));
    }
    for (const auto& [sum, parts] : sums_)
      if (!is_complete(sum)) width += std::log(values_of_part(sum, parts));
    return width;
  }

  // Of what is known of a sum or product.
  double values_of_part(TermId sum, const std::vector<TermId>& parts) const {
    const bool adds = terms_[sum].node->operation == expression::Operation::add;
    double combinations = 1;
    double numbers = 1;
    for (const TermId part : parts) {
      if (parameters_[part].empty() || !is_complete(part)) continue;
      const double values = values_of(part);
      combinations *= values;
      const expression::Range& range = terms_.range(part);
      const double span = static_cast<double>(range.high) - static_cast<double>(range.low);
      numbers = adds ? numbers + span : numbers * (span + 1);
    }
    return std::min(combinations, numbers);
  }

  double values_of(TermId id) const {
    double combinations = 1;
    for (const std::size_t i : parameters_[id])
      combinations *= static_cast<double>(terms_.plan().levels()[i].values.size());
    const expression::Range& range = terms_.range(id);
    if (range.kind == expression::Range::Kind::truths) return std::min(combinations, 2.0);
    if (range.kind != expression::Range::Kind::integers) return combinations;
    const double numbers = static_cast<double>(range.high) - static_cast<double>(range.low) + 1;
    return std::min(combinations, numbers);
  }

  const Terms& terms_;
  const ParameterGroup& group_;
  std::vector<bool> is_placed_;  // a parameter; those of other groups too
  std::set<TermId> asked_;
  std::vector<std::vector<TermId>> parents_;  // but sums and products
  std::vector<std::pair<TermId, std::vector<TermId>>> sums_;
  std::vector<std::set<std::size_t>> parameters_;  // a term
  std::vector<std::set<std::size_t>> needs_;       // of a parameter's `when`
};

}  // namespace

std::vector<std::size_t> narrow_order(const Terms& terms, const ParameterGroup& group) {
  return NarrowOrder(terms, group).run();
}

ParameterGroup in_order(const Terms& terms, const ParameterGroup& group,
                        std::vector<std::size_t> order) {
  const auto last_level = [&](const Terms::Check& check) {
    std::size_t last = 0;
    for (const TermId id : {check.applies, check.term})
      for (const std::size_t parameter : terms.parameters_of(id)) {
        const auto found = std::ranges::find(order, parameter);
        last = std::max(last, static_cast<std::size_t>(found - order.begin()));
      }
    return last;
  };
  ParameterGroup result;
  for (const Terms::Check& check : terms.checks()) {
    const auto is_same = [&](const auto& placed) { return placed.check.step == check.step; };
    if (std::ranges::any_of(group.checks, is_same))
      result.checks.push_back({check, last_level(check)});
  }
  std::ranges::stable_sort(result.checks, {}, &ParameterGroup::PlacedCheck::level);
  result.parameters = std::move(order);
  return result;
}

}  // namespace fa_tune::space
