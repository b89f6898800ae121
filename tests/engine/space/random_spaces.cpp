#include "tests/engine/space/random_spaces.hpp"

#include <algorithm>
#include <iterator>
#include <string>

#include "tests/engine/space/parts_writer.hpp"

namespace fa_tune::test {

using namespace fa_tune::expression;
using namespace fa_tune::space;

Constants Enumeration::derived(const Config& chosen) const {
  Constants result;
  const auto of_template = [&](const std::string& only_for) {
    const Value* value = chosen.find("template");
    return only_for.empty() || (value != nullptr && *value == Value(only_for));
  };
  for (std::size_t round = 0; round <= parts_.derived.size(); ++round)
    for (const Derived& derived : parts_.derived)
      if (of_template(derived.only_for) && all_exist(derived.expression, chosen, result))
        result[derived.name] = derived.expression.evaluate(
            [&](const std::string& name) { return find(name, chosen, result); });
  return result;
}

const Value* Enumeration::find(const std::string& name, const Config& chosen,
                               const Constants& derived) const {
  if (const auto found = parts_.constants.find(name); found != parts_.constants.end())
    return &found->second;
  if (const auto found = derived.find(name); found != derived.end()) return &found->second;
  return chosen.find(name);
}

bool Enumeration::all_exist(const Expression& expression, const Config& chosen,
                            const Constants& derived) const {
  return std::all_of(
      expression.names().begin(), expression.names().end(),
      [&](const std::string& name) { return find(name, chosen, derived) != nullptr; });
}

void Enumeration::assign(std::size_t at) {
  if (at == parts_.parameters.size()) {
    if (is_valid(Config(current_))) valid_.emplace_back(current_);
    return;
  }
  const Parameter& parameter = parts_.parameters[at];
  for (const Value& value : parameter.values) {
    current_.emplace_back(parameter.name, value);
    assign(at + 1);
    current_.pop_back();
  }
  if (parameter.when) assign(at + 1);
}

bool Enumeration::is_valid(const Config& chosen) const {
  const Constants values = derived(chosen);
  const auto scope = [&](const std::string& name) { return find(name, chosen, values); };
  for (const Parameter& parameter : parts_.parameters) {
    if (!parameter.when) continue;
    const bool active =
        all_exist(*parameter.when, chosen, values) && parameter.when->evaluate_bool(scope);
    if (active != (chosen.find(parameter.name) != nullptr)) return false;
  }
  const Value* chosen_template = chosen.find("template");
  return std::all_of(
      parts_.constraints.begin(), parts_.constraints.end(), [&](const Constraint& constraint) {
        const bool applies =
            constraint.only_for.empty() ||
            (chosen_template != nullptr && *chosen_template == Value(constraint.only_for));
        return !applies || !all_exist(constraint.expression, chosen, values) ||
               constraint.expression.evaluate_bool(scope);
      });
}

SpaceParts random_parts(Random& random) {
  PartsWriter writer;
  writer.constant("device.limit", number(static_cast<int>(random.below(8)) + 3));
  std::vector<std::string> names;
  const std::uint64_t count = 2 + random.below(4);
  names.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) names.push_back("P" + std::to_string(i));
  std::vector<std::string> shuffled = names;
  for (std::size_t i = shuffled.size(); i > 1; --i)
    std::swap(shuffled[i - 1], shuffled[random.below(i)]);
  const auto pick = [&](const std::vector<std::string>& from) {
    return from[random.below(from.size())];
  };
  const auto condition = [&](const std::vector<std::string>& from) -> std::string {
    switch (random.below(7)) {
      case 0:
        return pick(from) + " >= 2";
      case 1:
        return pick(from) + " + " + pick(from) + " <= device.limit";
      case 2:
        return pick(from) + " % 2 == 0 or " + pick(from) + " > 1";
      case 3:
        return "not " + pick(from) + " in [1, 3]";
      case 4:
        return "1 <= " + pick(from) + " <= " + pick(from) + " + 1";
      case 5:
        return pick(from) + " == " + pick(from);
      default:
        return pick(from) + " * " + pick(from) + " != 4";
    }
  };
  const bool with_template = random.below(2) == 0;
  if (with_template) writer.parameter("template", {word("plain"), word("fast")});
  for (const std::string& name : names) {
    std::vector<Value> values;
    for (std::uint64_t i = 0, n = 1 + random.below(4); i < n; ++i)
      values.push_back(number(static_cast<int>(i) + 1));
    const auto before = std::find(shuffled.begin(), shuffled.end(), name);
    std::string when;
    if (before != shuffled.begin() && random.below(3) == 0)
      when = condition({shuffled.begin(), before});
    else if (with_template && random.below(4) == 0)
      when = "template == 'fast'";
    writer.parameter(name, values, when);
  }
  std::vector<std::string> mentioned = names;
  if (random.below(2) == 0) {
    writer.derived("SUM", pick(names) + " + " + pick(names));
    writer.derived("TWICE", "SUM * 2");
    mentioned.insert(mentioned.end(), {"SUM", "TWICE"});
  }
  if (with_template && random.below(2) == 0) {
    writer.derived("WIDE", pick(names) + " * 3", "fast");
    if (random.below(2) == 0) writer.derived("WIDE", pick(names) + " + 1", "plain");
    mentioned.emplace_back("WIDE");
  }
  for (std::uint64_t i = random.below(4); i > 0; --i)
    writer.constraint(condition(mentioned), "", "");
  if (with_template && random.below(2) == 0) writer.constraint(condition(names), "", "fast");
  return writer.parts();
}

namespace {

std::string random_number(Random& random, const std::vector<std::string>& names, int depth) {
  const auto number = [&] { return random_expression(random, names, false, depth - 1); };
  if (depth <= 0 || random.below(4) == 0) {
    if (random.below(3) != 0) return names[random.below(names.size())];
    if (random.below(60) == 0) return "9223372036854775807";
    return std::to_string(random.below(5));
  }
  constexpr const char* binary[] = {" + ", " - ", " * ", " / ", " // ", " % ", " + ", " * "};
  switch (random.below(12)) {
    case 0:
      return "min(" + number() + ", " + number() + ", " + number() + ")";
    case 1:
      return "max(" + number() + ", " + number() + ")";
    case 2:
      return "ceil_div(" + number() + ", " + number() + ")";
    case 3:
      return "abs(" + number() + " - " + number() + ")";
    case 4:
      return "(" + number() + " if " + random_expression(random, names, true, depth - 1) +
             " else " + number() + ")";
    case 5:
      return "(-" + number() + ")";
    default:
      return "(" + number() + binary[random.below(std::size(binary))] + number() + ")";
  }
}

std::string random_truth(Random& random, const std::vector<std::string>& names, int depth) {
  const auto number = [&] { return random_expression(random, names, false, depth - 1); };
  const auto truth = [&] { return random_expression(random, names, true, depth - 1); };
  constexpr const char* comparisons[] = {" < ", " <= ", " > ", " >= ", " == ", " != "};
  const auto comparison = [&] { return comparisons[random.below(std::size(comparisons))]; };
  if (depth > 0) switch (random.below(8)) {
      case 0:
      case 1:
        return "(" + truth() + " and " + truth() + ")";
      case 2:
      case 3:
        return "(" + truth() + " or " + truth() + ")";
      case 4:
        return "(not " + truth() + ")";
      case 5:
        return "(" + number() + " in [" + number() + ", 1, " + number() + "])";
      case 6:
        return "(" + number() + comparison() + number() + comparison() + number() + ")";
      default:
        break;
    }
  if (random.below(80) == 0) return "(" + number() + " == 'text')";
  if (random.below(80) == 0) return number();
  return "(" + number() + comparison() + number() + ")";
}

}  // namespace

std::string random_expression(Random& random, const std::vector<std::string>& names, bool boolean,
                              int depth) {
  return boolean ? random_truth(random, names, depth) : random_number(random, names, depth);
}

SpaceParts random_faulty_parts(Random& random) {
  PartsWriter writer;
  std::vector<std::string> names;
  const std::uint64_t count = 2 + random.below(4);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::vector<Value> values;
    const int first = static_cast<int>(random.below(4)) - 1;
    for (std::uint64_t n = 1 + random.below(4); n > 0; --n)
      values.push_back(number(first + static_cast<int>(n)));
    const std::string when =
        !names.empty() && random.below(4) == 0 ? random_expression(random, names, true, 1) : "";
    names.push_back("P" + std::to_string(i));
    writer.parameter(names.back(), values, when);
  }
  if (random.below(3) == 0) {
    const std::string derived = random_expression(random, names, false, 2);
    names.emplace_back("D");
    writer.derived("D", derived);
  }
  for (std::uint64_t i = 1 + random.below(3); i > 0; --i)
    writer.constraint(random_expression(random, names, true, 2));
  return writer.parts();
}

std::vector<Genome> genomes_of(const Enumeration& reference, const Space& space) {
  std::vector<Genome> genomes;
  for (const Config& config : reference.valid()) genomes.push_back(space.genome(config));
  std::ranges::sort(genomes);
  return genomes;
}

}  // namespace fa_tune::test
