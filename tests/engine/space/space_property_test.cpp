#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/engine/space/parts_writer.hpp"

// Random small spaces against an enumeration that knows nothing of levels, slots or digits: every
// assignment of values and absences, kept if it agrees with the words of space.hpp.
using namespace fa_tune;

namespace {

using Assignment = std::vector<std::pair<std::string, Value>>;

class Reference {
 public:
  explicit Reference(const SpaceParts& parts) : parts_(parts) { assign(0); }

  const std::vector<Config>& valid() const { return valid_; }

  Constants derived(const Config& chosen) const {
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

 private:
  const Value* find(const std::string& name, const Config& chosen, const Constants& derived) const {
    if (const auto found = parts_.constants.find(name); found != parts_.constants.end())
      return &found->second;
    if (const auto found = derived.find(name); found != derived.end()) return &found->second;
    return chosen.find(name);
  }

  bool all_exist(const Expression& expression, const Config& chosen,
                 const Constants& derived) const {
    return std::all_of(
        expression.names().begin(), expression.names().end(),
        [&](const std::string& name) { return find(name, chosen, derived) != nullptr; });
  }

  void assign(std::size_t at) {
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

  bool is_valid(const Config& chosen) const {
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

  const SpaceParts& parts_;
  Assignment current_;
  std::vector<Config> valid_;
};

// Spaces of up to six parameters; `when` may mention later parameters, as long as there is no
// circle: it mentions only names before it in a shuffled order.
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
    switch (random.below(6)) {
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

std::set<std::string> json_of(const std::vector<Config>& configs) {
  std::set<std::string> result;
  for (const Config& config : configs) result.insert(config.to_json());
  return result;
}

// In the order of the space, which may be another than that of the parts.
Config reorder(const Config& config, const Space& space) {
  Config result;
  for (const Parameter& parameter : space.parts().parameters)
    if (const Value* value = config.find(parameter.name)) result.set(parameter.name, *value);
  return result;
}

bool are_neighbors(const Config& a, const Config& b) {
  int different = 0;
  for (const auto& [name, value] : a.settings()) {
    const Value* other = b.find(name);
    if (other != nullptr && *other != value) ++different;
  }
  return different == 1;
}

std::size_t equal_genes(const Config& a, const Config& wish) {
  std::size_t equal = 0;
  for (const auto& [name, value] : a.settings()) {
    const Value* other = wish.find(name);
    if (other != nullptr && *other == value) ++equal;
  }
  return equal;
}

}  // namespace

TEST_CASE("space: random spaces agree with plain enumeration") {
  Random random(2024);
  int empty = 0;
  int moved = 0;
  int conditional = 0;
  for (int round = 0; round < 400; ++round) {
    const SpaceParts parts = random_parts(random);
    const Reference reference(parts);
    CAPTURE(round);
    if (reference.valid().empty()) {
      CHECK(error_of([&] { Space::build(parts); }).find("no config is valid") != std::string::npos);
      ++empty;
      continue;
    }
    const Space space = Space::build(parts);
    if (space.parts().parameters.back().name != parts.parameters.back().name) ++moved;
    std::vector<Config> expected;
    for (const Config& config : reference.valid()) expected.push_back(reorder(config, space));
    REQUIRE(space.count() == expected.size());
    std::vector<Config> listed;
    listed.reserve(space.count());
    for (std::uint64_t i = 0; i < space.count(); ++i) listed.push_back(space.at(i));
    REQUIRE(json_of(listed) == json_of(expected));
    for (std::uint64_t i = 0; i < space.count(); ++i) {
      const Config& config = listed[i];
      CHECK(space.index_of(config) == i);
      CHECK_FALSE(space.why_invalid(config).has_value());
      CHECK(space.derived(config) == reference.derived(config));
      if (config.settings().size() < parts.parameters.size()) ++conditional;
      Assignment reversed(config.settings().rbegin(), config.settings().rend());
      CHECK(space.index_of(Config(reversed)) == i);
    }
    const Config from = space.sample(random);
    std::vector<Config> near;
    for (const Config& config : listed)
      if (are_neighbors(from, config)) near.push_back(config);
    const std::vector<Config> neighbors = space.neighbors(from);
    CHECK(neighbors.size() == near.size());
    CHECK(json_of(neighbors) == json_of(near));
    CHECK(space.neighbors(from) == neighbors);
  }
  CHECK(empty > 3);
  CHECK(moved > 10);
  CHECK(conditional > 100);
}

TEST_CASE("space: every assignment that is not listed has a reason") {
  Random random(5);
  for (int round = 0; round < 100; ++round) {
    const SpaceParts parts = random_parts(random);
    if (Reference(parts).valid().empty()) continue;
    const Space space = Space::build(parts);
    for (int i = 0; i < 30; ++i) {
      Config config;
      for (const Parameter& parameter : parts.parameters)
        if (random.below(8) != 0)
          config.set(parameter.name, parameter.values[random.below(parameter.values.size())]);
      CHECK(space.index_of(config).has_value() == !space.why_invalid(config).has_value());
    }
  }
}

TEST_CASE("space: nearest keeps as many genes as any valid config can") {
  Random random(6);
  for (int round = 0; round < 200; ++round) {
    const SpaceParts parts = random_parts(random);
    if (Reference(parts).valid().empty()) continue;
    const Space space = Space::build(parts);
    Config wish;
    for (const Parameter& parameter : parts.parameters)
      if (random.below(6) != 0)
        wish.set(parameter.name, parameter.values[random.below(parameter.values.size())]);
    if (random.below(2) == 0) wish.set("P0", number(77));
    std::size_t best = 0;
    for (std::uint64_t i = 0; i < space.count(); ++i)
      best = std::max(best, equal_genes(space.at(i), wish));
    const Config found = space.nearest(wish, random);
    CHECK(space.index_of(found).has_value());
    CHECK(equal_genes(found, wish) == best);
    const Config valid = space.sample(random);
    CHECK(space.nearest(valid, random) == valid);
  }
}

TEST_CASE("space: nearest breaks ties by chance, the seed decides") {
  const Space space = PartsWriter()
                          .parameter("A", {1, 2, 3, 4})
                          .parameter("B", {1, 2, 3, 4})
                          .constraint("A != B")
                          .build();
  const Config wish = config({{"A", number(2)}, {"B", number(2)}});
  std::set<std::string> seen;
  Random random(1);
  for (int i = 0; i < 200; ++i) seen.insert(space.nearest(wish, random).to_json());
  CHECK(seen.size() == 6);
  Random one(9);
  Random two(9);
  CHECK(space.nearest(wish, one) == space.nearest(wish, two));
}

TEST_CASE("space: samples are uniform over the valid configs, however lopsided the tree") {
  const Space space = PartsWriter()
                          .parameter("template", {word("plain"), word("fast")})
                          .parameter("A", {1, 2, 3, 4, 5}, "template == 'fast'")
                          .parameter("B", {1, 2, 3, 4}, "A >= 3")
                          .constraint("A + B <= 8")
                          .build();
  // plain; A of 1 and 2; A of 3 and 4 with 4 values of B; A of 5 with 3.
  REQUIRE(space.count() == 1 + 2 + 8 + 3);
  const auto cells = static_cast<double>(space.count());
  std::vector<double> seen(space.count(), 0);
  Random random(12);
  const double expected = 1000;
  for (int i = 0; i < static_cast<int>(expected * cells); ++i)
    seen[*space.index_of(space.sample(random))] += 1;
  double chi_square = 0;
  for (const double count : seen) chi_square += (count - expected) * (count - expected) / expected;
  // Four standard deviations above the mean of chi-square with cells - 1 degrees of freedom.
  CHECK(chi_square < cells - 1 + 4 * std::sqrt(2 * (cells - 1)));
}

TEST_CASE("space: the hotspot kernel's space has the count that the field publishes") {
  // 22.2 million combinations, 349,853 valid, as in Kernel Tuner's benchmark of space construction.
  PartsWriter writer("hotspot");
  const auto range = [](int first, int last, int step) {
    std::vector<Value> values;
    for (int value = first; value <= last; value += step) values.push_back(number(value));
    return values;
  };
  std::vector<Value> widths = range(32, 1024, 32);
  for (const int width : {16, 8, 4, 2, 1}) widths.insert(widths.begin(), number(width));
  const std::string tile =
      "(BLOCK_X * TILE_X + 2 * TIME) * (BLOCK_Y * TILE_Y + 2 * TIME) * (2 + POWER) * 4";
  writer.parameter("BLOCK_X", widths)
      .parameter("BLOCK_Y", {1, 2, 4, 8, 16, 32})
      .parameter("TILE_X", range(1, 10, 1))
      .parameter("TILE_Y", range(1, 10, 1))
      .parameter("TIME", range(1, 10, 1))
      .parameter("UNROLL", range(1, 10, 1))
      .parameter("POWER", {0, 1})
      .parameter("BLOCKS", {0, 1, 2, 3, 4})
      .derived("SHARED", tile)
      .constraint("32 <= BLOCK_X * BLOCK_Y <= 1024")
      .constraint("TIME % UNROLL == 0")
      .constraint("SHARED <= 49152")
      .constraint("BLOCKS == 0 or SHARED * BLOCKS <= 102400");
  const Space space = writer.build(1'000'000);
  CHECK(space.cartesian() == 22'200'000);
  CHECK(space.count() == 349'853);
  CHECK(space.index_of(space.at(300'000)) == 300'000);
}
