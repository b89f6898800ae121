#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/space/space_parts.hpp"

namespace fa_tune::space {
namespace {

// Depth first over the derived values; `path` holds those under way, to name a circle.
class DerivedSort {
 public:
  explicit DerivedSort(const SpaceParts& parts)
      : parts_(parts), state_(parts.derived.size(), State::fresh) {
    for (std::size_t i = 0; i < parts.derived.size(); ++i)
      by_name_[parts.derived[i].name].push_back(i);
  }

  std::vector<std::size_t> run() {
    for (std::size_t i = 0; i < parts_.derived.size(); ++i) visit(i);
    return std::move(order_);
  }

 private:
  enum class State { fresh, under_way, done };

  void visit(std::size_t i) {
    if (state_[i] == State::done) return;
    const Derived& derived = parts_.derived[i];
    if (state_[i] == State::under_way) refuse_circle(i);
    if (path_.size() >= kDeepest)
      throw UserError(prefix(derived.expression.mark()) + "derived value '" + derived.name +
                      "': the chain of derived values that lead here is too long");
    state_[i] = State::under_way;
    path_.push_back(i);
    for (const std::string& name : derived.expression.names()) {
      const auto found = by_name_.find(name);
      if (found == by_name_.end()) continue;
      for (const std::size_t other : found->second)
        if (may_meet(derived.only_for, parts_.derived[other].only_for)) visit(other);
    }
    path_.pop_back();
    state_[i] = State::done;
    order_.push_back(i);
  }

  [[noreturn]] void refuse_circle(std::size_t i) const {
    std::string circle;
    for (auto at = std::find(path_.begin(), path_.end(), i); at != path_.end(); ++at)
      circle += parts_.derived[*at].name + " -> ";
    const Derived& derived = parts_.derived[i];
    throw UserError(prefix(derived.expression.mark()) + "derived value '" + derived.name +
                    "' depends on itself: " + circle + derived.name);
  }

  static constexpr std::size_t kDeepest = 1000;

  const SpaceParts& parts_;
  std::map<std::string, std::vector<std::size_t>> by_name_;
  std::vector<State> state_;
  std::vector<std::size_t> path_;
  std::vector<std::size_t> order_;
};

using Names = std::set<std::string>;

// The parameters each name depends on: a parameter on itself, a derived value on all that any of
// its definitions mentions.
std::map<std::string, Names> dependencies(const SpaceParts& parts) {
  std::map<std::string, Names> result;
  for (const Parameter& parameter : parts.parameters) result[parameter.name] = {parameter.name};
  for (const std::size_t i : derived_order(parts)) {
    const Derived& derived = parts.derived[i];
    Names& all = result[derived.name];
    if (!derived.only_for.empty()) all.insert(kTemplateParameter);
    for (const std::string& name : derived.expression.names()) {
      const auto found = result.find(name);
      if (found != result.end()) all.insert(found->second.begin(), found->second.end());
    }
  }
  return result;
}

}  // namespace

std::vector<std::vector<std::size_t>> linked_parameters(const SpaceParts& parts) {
  const auto known = dependencies(parts);
  std::map<std::string, std::size_t> positions;
  for (std::size_t i = 0; i < parts.parameters.size(); ++i) positions[parts.parameters[i].name] = i;
  std::vector<std::set<std::size_t>> links(parts.parameters.size());
  const auto link = [&](const Names& names) {
    for (const std::string& one : names)
      for (const std::string& other : names)
        if (one != other) links[positions.at(one)].insert(positions.at(other));
  };
  const auto parameters_of = [&](const expression::Expression& expression,
                                 const std::string& only_for) {
    Names all;
    if (!only_for.empty()) all.insert(kTemplateParameter);
    for (const std::string& name : expression.names())
      if (const auto found = known.find(name); found != known.end())
        all.insert(found->second.begin(), found->second.end());
    return all;
  };
  for (const Parameter& parameter : parts.parameters) {
    if (!parameter.when) continue;
    Names names = parameters_of(*parameter.when, "");
    names.insert(parameter.name);
    link(names);
  }
  for (const Derived& derived : parts.derived)
    link(parameters_of(derived.expression, derived.only_for));
  for (const Constraint& constraint : parts.constraints)
    link(parameters_of(constraint.expression, constraint.only_for));
  std::vector<std::vector<std::size_t>> result;
  for (const auto& row : links) result.emplace_back(row.begin(), row.end());
  return result;
}

std::vector<std::size_t> derived_order(const SpaceParts& parts) { return DerivedSort(parts).run(); }

void order_parameters(SpaceParts& parts) {
  const auto known = dependencies(parts);
  const auto needs = [&](const Parameter& parameter) {
    Names all;
    if (!parameter.when) return all;
    for (const std::string& name : parameter.when->names()) {
      const auto found = known.find(name);
      if (found != known.end()) all.insert(found->second.begin(), found->second.end());
    }
    return all;
  };
  std::vector<std::pair<Parameter, Names>> waiting;
  for (Parameter& parameter : parts.parameters) {
    Names all = needs(parameter);
    waiting.emplace_back(std::move(parameter), std::move(all));
  }
  parts.parameters.clear();
  Names placed;
  while (!waiting.empty()) {
    const auto ready = std::find_if(waiting.begin(), waiting.end(), [&](const auto& entry) {
      return std::includes(placed.begin(), placed.end(), entry.second.begin(), entry.second.end());
    });
    if (ready == waiting.end()) {
      const Parameter& parameter = waiting[0].first;
      std::string names;
      for (const auto& entry : waiting) names += (names.empty() ? "" : ", ") + entry.first.name;
      throw UserError(prefix(parameter.when->mark()) + "the `when` of '" + parameter.name +
                      "' goes in a circle, among: " + names);
    }
    placed.insert(ready->first.name);
    parts.parameters.push_back(std::move(ready->first));
    waiting.erase(ready);
  }
}

}  // namespace fa_tune::space
