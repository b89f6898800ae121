#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "engine/space/parameter_groups.hpp"

namespace fa_tune {
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
    if (id == no_term) return;
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
    const bool adds = terms_[sum].node->operation == Operation::add;
    double combinations = 1;
    double numbers = 1;
    for (const TermId part : parts) {
      if (parameters_[part].empty() || !is_complete(part)) continue;
      const double values = values_of(part);
      combinations *= values;
      const Range& range = terms_.range(part);
      const double span = static_cast<double>(range.high) - static_cast<double>(range.low);
      numbers = adds ? numbers + span : numbers * (span + 1);
    }
    return std::min(combinations, numbers);
  }

  double values_of(TermId id) const {
    double combinations = 1;
    for (const std::size_t i : parameters_[id])
      combinations *= static_cast<double>(terms_.plan().levels()[i].values.size());
    const Range& range = terms_.range(id);
    if (range.kind == Range::Kind::truths) return std::min(combinations, 2.0);
    if (range.kind != Range::Kind::integers) return combinations;
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

}  // namespace fa_tune
