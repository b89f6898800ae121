#include "engine/space/mdd_state.hpp"

#include <algorithm>

namespace fa_tune {

Residue::Residue(const Terms& terms, const ParameterGroup& group, const LevelPlan& plan)
    : terms_(terms), group_(group), plan_(plan), seen_(terms.size(), 0) {
  ranges_.reserve(terms.size());
  for (TermId id = 0; id < terms.size(); ++id) ranges_.push_back(terms.range(id));
}

void Residue::find_ranges(std::size_t level, std::span<const Cell> values) {
  for (const TermId id : plan_.live(level)) ranges_[id] = Range::of(values[id]);
  for (const TermId id : plan_.pending(level))
    ranges_[id] = terms_[id].kind == Term::Kind::parameter ? terms_.range(id)
                                                           : terms_.compute_range(id, ranges_);
}

bool Residue::make(std::size_t level, std::span<const Cell> values) {
  key_.clear();
  ++round_;
  find_ranges(level, values);
  for (const ParameterGroup::PlacedCheck& placed : plan_.checks_from(level))
    if (!add_check(level, placed, values)) return false;
  for (std::size_t i = level; i < group_.parameters.size(); ++i) {
    const TermId activity = terms_.activity(group_.parameters[i]);
    if (activity != no_term) need(activity, level, values);
  }
  return true;
}

bool Residue::add_check(std::size_t level, const ParameterGroup::PlacedCheck& placed,
                        std::span<const Cell> values) {
  const Terms::Check& check = placed.check;
  const bool is_constraint = check.step->constraint != nullptr;
  const Range applies =
      check.applies == no_term ? Range::truths(false, true) : ranges_[check.applies];
  const Range& term = ranges_[check.term];
  if (applies.decided_as(false)) return true;
  if (is_constraint ? term.decided_as(true) : !term.may_fail) return true;
  const auto number = static_cast<std::size_t>(&placed - group_.checks.data());
  if (is_constraint && applies.decided_as(true) && term.decided_as(false)) {
    if (level >= plan_.refuses_from(placed)) return false;
    add_sign(Sign::refuses, number);
    return true;
  }
  add_sign(Sign::kept, number);
  if (check.applies != no_term) need(check.applies, level, values);
  need(check.term, level, values);
  return true;
}

void Residue::need(TermId id, std::size_t level, std::span<const Cell> values) {
  if (plan_.is_constant(id) || seen_[id] == round_) return;
  seen_[id] = round_;
  if (plan_.is_complete(id, level)) {
    add_sign(Sign::value, id);
    append_cell(key_, values[id]);
  } else if (ranges_[id].decided()) {
    add_sign(Sign::decided, id);
    append_cell(key_, ranges_[id].cell());
  } else {
    need_children(terms_[id], level, values);
  }
}

void Residue::need_children(const Term& term, std::size_t level, std::span<const Cell> values) {
  if (term.kind != Term::Kind::pick) {
    for (const TermId child : term.children) need(child, level, values);
    return;
  }
  for (std::size_t i = 0; i < term.children.size(); i += 2) {
    const Range& condition = ranges_[term.children[i]];
    need(term.children[i], level, values);
    if (condition.decided_as(false)) continue;
    need(term.children[i + 1], level, values);
    if (condition.decided_as(true)) break;
  }
}

}  // namespace fa_tune
