#include "engine/space/mdd_state.hpp"

#include <algorithm>
#include <vector>

namespace fa_tune::space {

LevelPlan::LevelPlan(const Terms& terms, const ParameterGroup& group)
    : checks_(group.checks),
      complete_(terms.size(), kConstant),
      levels_(group.parameters.size() + 1),
      refuses_from_(group.checks.size(), 0) {
  find_completion(terms, group);
  find_uses(terms, group);
  find_refusals(terms, group);
}

std::span<const ParameterGroup::PlacedCheck> LevelPlan::checks(std::size_t level) const {
  const std::size_t first = levels_[level].first_check;
  return std::span(checks_).subspan(first, levels_[level + 1].first_check - first);
}

std::span<const ParameterGroup::PlacedCheck> LevelPlan::checks_from(std::size_t level) const {
  return std::span(checks_).subspan(levels_[level].first_check);
}

void LevelPlan::find_completion(const Terms& terms, const ParameterGroup& group) {
  std::vector<std::size_t> level_of(terms.plan().levels().size(), kNever);
  for (std::size_t i = 0; i < group.parameters.size(); ++i) level_of[group.parameters[i]] = i;
  for (TermId id = 0; id < terms.size(); ++id) {
    const Term& term = terms[id];
    std::size_t& complete = complete_[id];
    if (term.kind == Term::Kind::parameter) complete = level_of[term.parameter];
    for (const TermId child : term.children)
      if (complete_[child] != kConstant)
        complete = complete == kConstant ? complete_[child] : std::max(complete, complete_[child]);
  }
}

void LevelPlan::find_uses(const Terms& terms, const ParameterGroup& group) {
  // The last level that asks for a term: to complete another one, to try a check, or to know
  // whether its parameter exists. Parents come behind their children.
  std::vector<std::size_t> asked_until(terms.size(), 0);
  std::vector<bool> is_asked(terms.size(), false);
  const auto ask = [&](TermId id, std::size_t level) {
    if (id == kNoTerm) return;
    is_asked[id] = true;
    asked_until[id] = std::max(asked_until[id], level);
  };
  for (const ParameterGroup::PlacedCheck& placed : group.checks) {
    ask(placed.check.applies, placed.level);
    ask(placed.check.term, placed.level);
  }
  for (std::size_t i = 0; i < group.parameters.size(); ++i) {
    ask(terms.activity(group.parameters[i]), i);
  }
  for (auto id = static_cast<TermId>(terms.size()); id-- > 0;)
    if (is_asked[id] && complete_[id] != kConstant)
      for (const TermId child : terms[id].children) ask(child, complete_[id]);

  for (TermId id = 0; id < terms.size(); ++id) {
    if (!is_asked[id] || complete_[id] == kConstant) continue;
    const std::size_t complete = complete_[id];
    if (terms[id].kind != Term::Kind::parameter) levels_[complete].computed.push_back(id);
    for (std::size_t level = complete + 1; level <= asked_until[id]; ++level)
      levels_[level].live.push_back(id);
    for (std::size_t level = 0; level <= complete; ++level) levels_[level].pending.push_back(id);
  }
  for (std::size_t level = 0; level < levels_.size(); ++level)
    levels_[level].first_check = static_cast<std::size_t>(
        std::ranges::lower_bound(group.checks, level, {}, &ParameterGroup::PlacedCheck::level) -
        group.checks.begin());
}

void LevelPlan::find_refusals(const Terms& terms, const ParameterGroup& group) {
  std::size_t behind = 0;
  std::size_t level = 0;
  const auto pass_activities = [&](std::size_t until) {
    for (; level <= until; ++level) {
      const TermId activity = terms.activity(group.parameters[level]);
      if (activity != kNoTerm && terms.range(activity).may_fail) behind = level + 1;
    }
  };
  for (std::size_t i = 0; i < group.checks.size(); ++i) {
    pass_activities(group.checks[i].level);
    refuses_from_[i] = behind;
    if (terms.may_fail(group.checks[i].check)) behind = group.checks[i].level + 1;
  }
}

Residue::Residue(const Terms& terms, const ParameterGroup& group, const LevelPlan& plan)
    : terms_(terms), group_(group), plan_(plan), seen_(terms.size(), 0) {
  ranges_.reserve(terms.size());
  for (TermId id = 0; id < terms.size(); ++id) ranges_.push_back(terms.range(id));
}

void Residue::find_ranges(std::size_t level, std::span<const expression::Cell> values) {
  for (const TermId id : plan_.live(level)) ranges_[id] = expression::Range::of(values[id]);
  for (const TermId id : plan_.pending(level))
    ranges_[id] = terms_[id].kind == Term::Kind::parameter ? terms_.range(id)
                                                           : terms_.compute_range(id, ranges_);
}

bool Residue::make(std::size_t level, std::span<const expression::Cell> values) {
  key_.clear();
  ++round_;
  find_ranges(level, values);
  for (const ParameterGroup::PlacedCheck& placed : plan_.checks_from(level))
    if (!add_check(level, placed, values)) return false;
  for (std::size_t i = level; i < group_.parameters.size(); ++i) {
    const TermId activity = terms_.activity(group_.parameters[i]);
    if (activity != kNoTerm) need(activity, level, values);
  }
  return true;
}

bool Residue::add_check(std::size_t level, const ParameterGroup::PlacedCheck& placed,
                        std::span<const expression::Cell> values) {
  const Terms::Check& check = placed.check;
  const bool is_constraint = check.step->constraint != nullptr;
  const expression::Range applies =
      check.applies == kNoTerm ? expression::Range::truths(false, true) : ranges_[check.applies];
  const expression::Range& term = ranges_[check.term];
  if (applies.decided_as(false)) return true;
  if (is_constraint ? term.decided_as(true) : !term.may_fail) return true;
  const auto number = static_cast<std::size_t>(&placed - group_.checks.data());
  if (is_constraint && applies.decided_as(true) && term.decided_as(false)) {
    if (level >= plan_.refuses_from(placed)) return false;
    add_sign(Sign::refuses, number);
    return true;
  }
  add_sign(Sign::kept, number);
  if (check.applies != kNoTerm) need(check.applies, level, values);
  need(check.term, level, values);
  return true;
}

void Residue::need(TermId id, std::size_t level, std::span<const expression::Cell> values) {
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

void Residue::need_children(const Term& term, std::size_t level,
                            std::span<const expression::Cell> values) {
  if (term.kind != Term::Kind::pick) {
    for (const TermId child : term.children) need(child, level, values);
    return;
  }
  for (std::size_t i = 0; i < term.children.size(); i += 2) {
    const expression::Range& condition = ranges_[term.children[i]];
    need(term.children[i], level, values);
    if (condition.decided_as(false)) continue;
    need(term.children[i + 1], level, values);
    if (condition.decided_as(true)) break;
  }
}

}  // namespace fa_tune::space
