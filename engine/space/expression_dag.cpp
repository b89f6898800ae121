#include "engine/space/expression_dag.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/space/space_parts.hpp"

namespace fa_tune::space {
namespace {

using TermKind = Term::Kind;

std::uint64_t word_of(const expression::Cell& cell) {
  return cell.type == expression::Cell::Type::text ? reinterpret_cast<std::uintptr_t>(cell.text)
                                                   : static_cast<std::uint64_t>(cell.number);
}

// Whether nodes of this operation with equal children and comparisons are equal.
bool is_plain(expression::Operation operation) {
  return operation <= expression::Operation::choose;
}

}  // namespace

Terms::Terms(const SpacePlan& plan, const std::vector<std::size_t>& order) : plan_(plan) {
  const auto& parameters = plan.parts().parameters;
  for (std::size_t i = 0; i < parameters.size(); ++i) places_.push_back(i + 1);
  for (std::size_t i = 0; i < order.size(); ++i) places_[order[i]] = i + 1;
  for (std::size_t i = 0; i < parameters.size(); ++i) positions_[parameters[i].name] = i;
  for (const SpacePlan::Level& level : plan.levels()) {
    cells_.emplace_back();
    for (const expression::Cell& cell : level.values) cells_.back().push_back(intern(cell));
  }
  values_.assign(parameters.size(), kNoTerm);
  activities_.assign(parameters.size(), kNoTerm);
  add_parameters();
  add_checks();
}

expression::Cell Terms::intern(expression::Cell cell) {
  if (cell.type == expression::Cell::Type::text) cell.text = &*texts_.insert(*cell.text).first;
  return cell;
}

TermId Terms::add(Term term) {
  std::vector<std::uint64_t> key = {static_cast<std::uint64_t>(term.kind),
                                    static_cast<std::uint64_t>(term.literal.type),
                                    word_of(term.literal), term.parameter};
  if (term.node != nullptr) {
    key.push_back(static_cast<std::uint64_t>(term.node->operation));
    key.push_back(is_plain(term.node->operation) ? 0 : reinterpret_cast<std::uintptr_t>(term.node));
    key.push_back(term.node->python ? 1 : 0);
    key.push_back(term.node->comparisons.size());
    for (const expression::ComparisonOperator comparison : term.node->comparisons)
      key.push_back(static_cast<std::uint64_t>(comparison));
  }
  key.insert(key.end(), term.children.begin(), term.children.end());
  const auto [id, is_new] = known_.insert(key);
  if (is_new) {
    std::size_t known_at = term.kind == TermKind::parameter ? places_[term.parameter] : 0;
    for (const TermId child : term.children) known_at = std::max(known_at, known_at_[child]);
    known_at_.push_back(known_at);
    terms_.push_back(std::move(term));
    const bool is_parameter = terms_.back().kind == TermKind::parameter;
    ranges_.push_back(is_parameter ? parameter_range(terms_.back().parameter)
                                   : compute_range(id, ranges_));
  }
  return id;
}

TermId Terms::add_literal(const expression::Cell& cell) {
  Term term;
  term.literal = intern(cell);
  return add(std::move(term));
}

TermId Terms::add_all(const std::vector<TermId>& children) {
  Term term;
  term.kind = TermKind::all;
  for (const TermId child : children)
    if (child != kNoTerm) term.children.push_back(child);
  if (term.children.empty()) return kNoTerm;
  return term.children.size() == 1 ? term.children[0] : add(std::move(term));
}

void Terms::add_parameters() {
  const auto& parameters = plan_.parts().parameters;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto& when = parameters[i].when;
    if (when)
      activities_[i] = add_all({applies_term(*when, nullptr), expression_term(*when, nullptr)});
    Term term;
    if (when || parameters[i].values.size() > 1) {
      term.kind = TermKind::parameter;
      term.parameter = i;
    } else {
      term.literal = cells_[i][0];
    }
    values_[i] = add(std::move(term));
  }
}

void Terms::add_checks() {
  for (std::size_t i = 0; i < plan_.levels().size(); ++i)
    for (const SpacePlan::Step& step : plan_.levels()[i].steps) {
      const expression::Expression& expression = *step.compiled.expression;
      Check check{&step, applies_term(expression, step.only_for),
                  expression_term(expression, step.only_for), i};
      if (step.constraint != nullptr || may_fail(check)) checks_.push_back(check);
    }
}

bool Terms::may_fail(const Check& check) const {
  const expression::Range& range = ranges_[check.term];
  return range.may_fail ||
         (check.step->constraint != nullptr && range.kind != expression::Range::Kind::truths);
}

TermId Terms::expression_term(const expression::Expression& expression,
                              const std::string* only_for) {
  return node_term(expression, expression.root(), only_for);
}

TermId Terms::node_term(const expression::Expression& expression,
                        const expression::Expression::Node& node, const std::string* only_for) {
  if (node.operation == expression::Operation::literal) return add_literal(node.literal);
  if (node.operation == expression::Operation::name)
    return name_term(expression.names()[node.name], only_for);
  Term term;
  term.kind = TermKind::operation;
  term.expression = &expression;
  term.node = &node;
  if (node.operation == expression::Operation::add ||
      node.operation == expression::Operation::multiply) {
    std::vector<TermId> parts;
    flatten(expression, node, node.operation, only_for, parts);
    if (any_order_is_safe(node.operation, parts)) {
      std::ranges::stable_sort(parts, {}, [&](TermId part) { return known_at_[part]; });
      TermId sum = parts[0];
      for (std::size_t i = 1; i < parts.size(); ++i) {
        term.children = {sum, parts[i]};
        sum = add(term);
      }
      return sum;
    }
  }
  for (const auto& child : node.children)
    term.children.push_back(node_term(expression, *child, only_for));
  return add(std::move(term));
}

void Terms::flatten(const expression::Expression& expression,
                    const expression::Expression::Node& node, expression::Operation operation,
                    const std::string* only_for, std::vector<TermId>& parts) {
  if (node.operation != operation) {
    flatten(node_term(expression, node, only_for), operation, parts);
    return;
  }
  for (const auto& child : node.children) flatten(expression, *child, operation, only_for, parts);
}

void Terms::flatten(TermId id, expression::Operation operation, std::vector<TermId>& parts) const {
  const Term& term = terms_[id];
  if (term.kind != TermKind::operation || term.node->operation != operation) {
    parts.push_back(id);
    return;
  }
  for (const TermId child : term.children) flatten(child, operation, parts);
}

std::vector<TermId> Terms::parts_of(TermId id) const {
  const Term& term = terms_[id];
  if (term.kind != TermKind::operation) return {};
  const expression::Operation operation = term.node->operation;
  if (operation != expression::Operation::add && operation != expression::Operation::multiply)
    return {};
  std::vector<TermId> parts;
  flatten(id, operation, parts);
  if (!any_order_is_safe(operation, parts)) parts.clear();
  return parts;
}

bool Terms::any_order_is_safe(expression::Operation operation,
                              std::span<const TermId> parts) const {
  const bool adds = operation == expression::Operation::add;
  double most = adds ? 0 : 1;  // of what any of the parts may come to together
  for (const TermId part : parts) {
    const expression::Range& range = ranges_[part];
    if (range.kind != expression::Range::Kind::integers || range.may_fail) return false;
    const double size = std::max(
        {1.0, std::abs(static_cast<double>(range.low)), std::abs(static_cast<double>(range.high))});
    most = adds ? most + size : most * size;
  }
  return most < 0x1p62;
}

std::vector<const Derived*> Terms::definitions(const std::string& name,
                                               const std::string* only_for) const {
  std::vector<const Derived*> result;
  for (const Derived& derived : plan_.parts().derived)
    if (derived.name == name &&
        may_meet(derived.only_for, only_for == nullptr ? std::string() : *only_for))
      result.push_back(&derived);
  return result;
}

TermId Terms::name_term(const std::string& name, const std::string* only_for) {
  if (const auto found = positions_.find(name); found != positions_.end())
    return values_[found->second];
  const auto& constants = plan_.parts().constants;
  if (const auto found = constants.find(name); found != constants.end())
    return add_literal(expression::Cell::of(found->second));
  Term term;
  term.kind = TermKind::pick;
  for (const Derived* derived : definitions(name, only_for)) {
    const std::string* own = derived->only_for.empty() ? nullptr : &derived->only_for;
    const TermId value = expression_term(derived->expression, own);
    const TermId applies = applies_term(derived->expression, own);
    // Who mentions it asks whether it exists: nothing is left to pick.
    if (own == nullptr || (only_for != nullptr && *own == *only_for)) return value;
    term.children.push_back(applies);
    term.children.push_back(value);
  }
  return add(std::move(term));
}

TermId Terms::template_term(const std::string& name) {
  const std::size_t chooser = positions_.at(kTemplateParameter);
  Term term;
  term.kind = TermKind::is_text;
  term.literal = intern({expression::Cell::Type::text, 0, &name});
  term.children = {values_[chooser]};
  return add_all({activities_[chooser], add(std::move(term))});
}

TermId Terms::applies_term(const expression::Expression& expression, const std::string* only_for) {
  std::vector<TermId> parts;
  if (only_for != nullptr) parts.push_back(template_term(*only_for));
  for (const std::string& name : expression.names()) parts.push_back(exists_term(name, only_for));
  return add_all(parts);
}

TermId Terms::exists_term(const std::string& name, const std::string* only_for) {
  if (const auto found = positions_.find(name); found != positions_.end())
    return activities_[found->second];
  if (plan_.parts().constants.contains(name)) return kNoTerm;
  Term term;
  term.kind = TermKind::pick;
  const TermId yes = add_literal(expression::Cell::boolean(true));
  for (const Derived* derived : definitions(name, only_for)) {
    const std::string* own = derived->only_for.empty() ? nullptr : &derived->only_for;
    const TermId applies = applies_term(derived->expression, own);
    if (own == nullptr) return applies;
    term.children.push_back(applies);
    term.children.push_back(yes);
  }
  term.children.push_back(yes);
  term.children.push_back(add_literal(expression::Cell::boolean(false)));
  return add(std::move(term));
}

std::set<std::size_t> Terms::parameters_of(TermId id) const {
  std::set<std::size_t> result;
  std::set<TermId> seen;
  std::vector<TermId> open = {id};
  while (!open.empty()) {
    const TermId here = open.back();
    open.pop_back();
    if (here == kNoTerm || !seen.insert(here).second) continue;
    const Term& term = terms_[here];
    if (term.kind == TermKind::parameter) result.insert(term.parameter);
    open.insert(open.end(), term.children.begin(), term.children.end());
  }
  return result;
}

}  // namespace fa_tune::space
