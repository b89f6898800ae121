#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/engine/space/parts_writer.hpp"
#include "tests/engine/space/random_spaces.hpp"

// Random small spaces against plain enumeration, by configs; genome_test.cpp does it by genomes.
namespace fa_tune::test {

using namespace fa_tune::space;

namespace {

using Assignment = std::vector<std::pair<std::string, Value>>;

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
    const Enumeration reference(parts);
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
    if (Enumeration(parts).valid().empty()) continue;
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
    if (Enumeration(parts).valid().empty()) continue;
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
  const Space space = writer.build();
  CHECK(space.cartesian() == 22'200'000);
  CHECK(space.count() == 349'853);
  CHECK(space.index_of(space.at(300'000)) == 300'000);
}

}  // namespace fa_tune::test
