#include "engine/space/space_parts.hpp"

#include <algorithm>
#include <set>

#include <fmt/core.h>

#include "engine/expression/node.hpp"
#include "engine/util/hash.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::space {
namespace {

// A gene has 16 bits; the highest stands for 'inactive', the next is left free.
constexpr std::size_t kMostValues = 65'534;
constexpr std::size_t kMostParameters = 256;

[[noreturn]] void refuse(const Mark& mark, const std::string& message) {
  throw UserError(prefix(mark) + message);
}

void check_name(const std::string& name, const Mark& mark) {
  if (!is_identifier(name))
    refuse(mark, quote_text(name) + ": expected a name (letters, digits and _)");
  const auto& words = expression::reserved_words();
  if (std::find(words.begin(), words.end(), name) != words.end())
    refuse(mark, quote_text(name) + " is a word of the expression language, choose another name");
}

void check_values(const Parameter& parameter) {
  const auto& values = parameter.values;
  const std::string what = "parameter '" + parameter.name + "'";
  if (values.empty()) refuse(parameter.mark, what + " has no values, expected at least one");
  if (values.size() > kMostValues)
    refuse(parameter.mark, fmt::format("{} has {} values, at most {} are possible", what,
                                       values.size(), kMostValues));
  std::set<Value> seen;
  for (const Value& value : values) {
    if (value.index() != values[0].index())
      refuse(parameter.mark, what + " mixes types: " + to_text(values[0]) + " and " +
                                 to_text(value) + ", expected one type");
    if (!seen.insert(value).second)
      refuse(parameter.mark, what + " lists the value " + to_text(value) + " twice");
  }
}

class NameCheck {
 public:
  explicit NameCheck(const SpaceParts& parts) : parts_(parts) {
    for (const auto& [name, value] : parts.constants) fixed_.insert(name);
    for (const Parameter& parameter : parts.parameters) fixed_.insert(parameter.name);
  }

  void check(const expression::Expression& expression, const std::string& only_for) const {
    for (const std::string& name : expression.names()) {
      if (fixed_.contains(name)) continue;
      const bool is_derived =
          std::any_of(parts_.derived.begin(), parts_.derived.end(), [&](const Derived& derived) {
            return derived.name == name && may_meet(derived.only_for, only_for);
          });
      if (!is_derived) refuse_name(expression, name, only_for);
    }
  }

 private:
  [[noreturn]] void refuse_name(const expression::Expression& expression, const std::string& name,
                                const std::string& only_for) const {
    std::vector<std::string> known(fixed_.begin(), fixed_.end());
    for (const Derived& derived : parts_.derived)
      if (may_meet(derived.only_for, only_for)) known.push_back(derived.name);
    std::string hint = did_you_mean(name, known);
    if (hint.empty()) hint = ", expected a parameter, a derived value, problem.* or device.*";
    refuse(expression.mark_of(name),
           "unknown name " + quote_text(name) + " in " + quote_text(expression.text()) + hint);
  }

  const SpaceParts& parts_;
  std::set<std::string> fixed_;
};

void check_derived(const SpaceParts& parts, const std::set<std::string>& taken) {
  for (std::size_t i = 0; i < parts.derived.size(); ++i) {
    const Derived& derived = parts.derived[i];
    check_name(derived.name, derived.expression.mark());
    if (taken.contains(derived.name))
      refuse(derived.expression.mark(),
             "derived value '" + derived.name + "': a parameter or constant has this name");
    for (std::size_t j = 0; j < i; ++j)
      if (parts.derived[j].name == derived.name &&
          may_meet(parts.derived[j].only_for, derived.only_for))
        refuse(derived.expression.mark(), "derived value '" + derived.name + "' is defined twice");
  }
}

}  // namespace

void check_parts(const SpaceParts& parts) {
  if (parts.parameters.empty()) throw UserError("space '" + parts.name + "' has no parameters");
  if (parts.parameters.size() > kMostParameters)
    throw UserError(fmt::format("space '{}' has {} parameters, at most {} are possible", parts.name,
                                parts.parameters.size(), kMostParameters));
  std::set<std::string> taken;
  for (const auto& [name, value] : parts.constants) taken.insert(name);
  for (const Parameter& parameter : parts.parameters) {
    check_name(parameter.name, parameter.mark);
    if (!taken.insert(parameter.name).second)
      refuse(parameter.mark, "parameter '" + parameter.name + "' is defined twice");
    check_values(parameter);
  }
  check_derived(parts, taken);

  const NameCheck names(parts);
  const bool has_templates = taken.contains(kTemplateParameter);
  const auto check_template = [&](const expression::Expression& expression,
                                  const std::string& only_for) {
    if (!only_for.empty() && !has_templates)
      refuse(expression.mark(),
             "is for template '" + only_for + "', but the space has no parameter 'template'");
  };
  for (const Parameter& parameter : parts.parameters)
    if (parameter.when) names.check(*parameter.when, "");
  for (const Derived& derived : parts.derived) {
    check_template(derived.expression, derived.only_for);
    names.check(derived.expression, derived.only_for);
  }
  for (const Constraint& constraint : parts.constraints) {
    check_template(constraint.expression, constraint.only_for);
    names.check(constraint.expression, constraint.only_for);
  }
}

std::string hash_parts(const SpaceParts& parts) {
  // Every field with its length before it, so that no two spaces give one text.
  std::string text;
  const auto add = [&](const std::string& field) {
    text += fmt::format("{}:{},", field.size(), field);
  };
  const auto add_value = [&](const Value& value) {
    add(std::to_string(value.index()));
    add(to_text(value));
  };
  add("parameters " + std::to_string(parts.parameters.size()));
  for (const Parameter& parameter : parts.parameters) {
    add(parameter.name);
    add(parameter.when ? "when " + parameter.when->text() : "always");
    add(std::to_string(parameter.values.size()));
    for (const Value& value : parameter.values) add_value(value);
  }
  add("derived " + std::to_string(parts.derived.size()));
  for (const Derived& derived : parts.derived) {
    add(derived.name);
    add(derived.only_for);
    add(derived.expression.text());
  }
  add("constraints " + std::to_string(parts.constraints.size()));
  for (const Constraint& constraint : parts.constraints) {
    add(constraint.only_for);
    add(constraint.expression.text());
  }
  add("constants " + std::to_string(parts.constants.size()));
  for (const auto& [name, value] : parts.constants) {
    add(name);
    add_value(value);
  }
  return sha256(text);
}

}  // namespace fa_tune::space
