#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/engine/space/parts_writer.hpp"
#include "tests/engine/space/random_spaces.hpp"

// Spaces too large to be listed, and small ones that are held as if they were too large.
namespace fa_tune::test {

using namespace fa_tune::space;

namespace {

// `count` digits from 0 to 9 whose sum has a given last digit: 10^(count - 1) configs.
PartsWriter digits(int count) {
  PartsWriter writer("digits");
  std::string sum = "0";
  for (int i = 0; i < count; ++i) {
    const std::string name = "D" + std::to_string(i);
    writer.parameter(name, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
    sum += " + " + name;
  }
  writer.constraint("(" + sum + ") % 10 == 3");
  return writer;
}

int digit_sum(const Genome& genome) {
  int sum = 0;
  for (const Gene gene : genome) sum += gene;
  return sum;
}

// Chi-square of draws that should hit all cells alike, below its 99.9% quantile by the formula of
// Wilson and Hilferty (1931).
bool is_uniform(const std::vector<double>& seen) {
  const auto cells = static_cast<double>(seen.size());
  double total = 0;
  for (const double count : seen) total += count;
  const double expected = total / cells;
  double chi_square = 0;
  for (const double count : seen) chi_square += (count - expected) * (count - expected) / expected;
  constexpr double normal_quantile = 3.0902;
  const double freedom = cells - 1;
  const double root = 1 - 2 / (9 * freedom) + normal_quantile * std::sqrt(2 / (9 * freedom));
  return chi_square < freedom * root * root * root;
}

// Hardly room for anything: constraints between many parameters have to be asked afterwards.
constexpr SpaceLimits kTight = {.key_words = 700, .branches = 100'000};

PartsWriter tangled() {
  PartsWriter writer("tangled");
  for (const char* name : {"A", "B", "C", "D"}) writer.parameter(name, {1, 2, 3, 5, 7, 11});
  writer.parameter("E", {1, 2}, "A > 2");
  return writer.constraint("A + B != 8")
      .constraint("(A * 13 + B * 7 + C * 5 + D * 3) % 11 < 4")
      .constraint("A * 1000 + B * 100 + C * 10 + D != 5555");
}

}  // namespace

TEST_CASE("large spaces: 10^15 configs are counted, ranked, drawn and moved in exactly") {
  const Space space = digits(16).build();
  CHECK(space.exact());
  CHECK(space.count() == 1'000'000'000'000'000);
  CHECK(space.size() == 1e15);
  Random random(3);
  std::vector<std::vector<double>> seen(16, std::vector<double>(10, 0));
  for (int i = 0; i < 5000; ++i) {
    const Genome genome = space.sample_genome(random);
    REQUIRE(digit_sum(genome) % 10 == 3);
    for (std::size_t j = 0; j < genome.size(); ++j) seen[j][genome[j]] += 1;
    const auto rank = space.rank(genome);
    REQUIRE(rank.has_value());
    CHECK(space.genome_at(*rank) == genome);
  }
  for (const auto& digit : seen) CHECK(is_uniform(digit));
  CHECK(space.genome_at(0) == Genome{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3});
  CHECK_FALSE(space.rank(Genome(16, 0)).has_value());
  // No digit can change alone; two can, by what they take from each other.
  const Genome from = space.sample_genome(random);
  std::vector<Genome> near;
  space.neighbors(from, Neighborhood::one_gene, near);
  CHECK(near.empty());
  space.neighbors(from, Neighborhood::linked, near);
  CHECK(near.size() == 16 * 15 / 2 * 9);
  const Genome repaired = space.nearest(Genome(16, 0), random);
  CHECK(std::ranges::count(repaired, 0) == 15);
}

TEST_CASE("large spaces: beyond 64 bits the count is a bound and samples stay uniform") {
  const Space space = digits(22).build();
  CHECK_FALSE(space.exact());
  CHECK(space.count() == UINT64_MAX);
  CHECK(space.size() == doctest::Approx(1e21));
  Random random(4);
  CHECK_FALSE(space.rank(space.sample_genome(random)).has_value());
  std::vector<std::vector<double>> seen(22, std::vector<double>(10, 0));
  for (int i = 0; i < 5000; ++i) {
    const Genome genome = space.sample_genome(random);
    REQUIRE(space.valid(genome));
    REQUIRE(digit_sum(genome) % 10 == 3);
    for (std::size_t j = 0; j < genome.size(); ++j) seen[j][genome[j]] += 1;
  }
  for (const auto& digit : seen) CHECK(is_uniform(digit));
}

TEST_CASE("large spaces: parameters without ties multiply, and the order goes group by group") {
  PartsWriter writer;
  writer.parameter("A", {1, 2, 3}).parameter("X", {1, 2, 3}).parameter("B", {1, 2, 3});
  const Space space =
      writer.parameter("Y", {1, 2, 3}).constraint("A < B").constraint("X >= Y").build();
  REQUIRE(space.count() == 3 * 6);
  std::set<Genome> all;
  for (std::uint64_t i = 0; i < space.count(); ++i) {
    const Genome genome = space.genome_at(i);
    CHECK(space.rank(genome) == i);
    all.insert(genome);
  }
  CHECK(all.size() == 18);
  CHECK(space.genome_at(0) == Genome{0, 0, 1, 0});
  CHECK(space.genome_at(5) == Genome{0, 2, 1, 2});
  CHECK(space.genome_at(6) == Genome{0, 0, 2, 0});
}

TEST_CASE("large spaces: an order that remembers less is found where the written one is too wide") {
  // Twelve values, then their twins: in this order all of the first must be remembered.
  PartsWriter writer;
  for (const char* side : {"A", "B"})
    for (int i = 0; i < 12; ++i)
      writer.parameter(side + std::to_string(i), {1, 2, 3, 4, 5, 6, 7, 8});
  std::string sum = "0";
  for (int i = 0; i < 12; ++i) {
    writer.constraint("A" + std::to_string(i) + " == B" + std::to_string(i));
    sum += " + A" + std::to_string(i);
  }
  writer.constraint("(" + sum + ") % 2 == 0");
  const Space space = Space::build(writer.parts(), {.key_words = 200'000, .branches = 1'000'000});
  CHECK(space.exact());
  CHECK(space.count() == (std::uint64_t{1} << 36) / 2);
  Random random(8);
  const Genome genome = space.sample_genome(random);
  CHECK(space.genome_at(*space.rank(genome)) == genome);
}

TEST_CASE("large spaces: without room for the diagram samples are as uniform") {
  const Space exact = tangled().build();
  const Space space = Space::build(tangled().parts(), kTight);
  REQUIRE(exact.exact());
  REQUIRE_FALSE(space.exact());
  CHECK(space.hash() == exact.hash());
  CHECK(static_cast<double>(space.count()) ==
        doctest::Approx(static_cast<double>(exact.count())).epsilon(0.05));
  Random random(9);
  std::vector<double> seen(exact.count(), 0);
  for (std::uint64_t i = 0; i < 40 * exact.count(); ++i) {
    const auto rank = exact.rank(space.sample_genome(random));
    REQUIRE(rank.has_value());
    seen[*rank] += 1;
  }
  CHECK(is_uniform(seen));
}

TEST_CASE("large spaces: without room membership and neighbours are exact, repair is valid") {
  const Space exact = tangled().build();
  const Space space = Space::build(tangled().parts(), kTight);
  Random random(10);
  std::vector<Genome> near;
  std::vector<Genome> expected;
  for (int i = 0; i < 200; ++i) {
    const Genome from = exact.sample_genome(random);
    CHECK(space.valid(from));
    CHECK_FALSE(space.rank(from).has_value());
    for (const auto neighborhood :
         {Neighborhood::adjacent, Neighborhood::one_gene, Neighborhood::linked}) {
      space.neighbors(from, neighborhood, near);
      exact.neighbors(from, neighborhood, expected);
      std::ranges::sort(near);
      std::ranges::sort(expected);
      CHECK(near == expected);
    }
    Genome wish;
    for (int gene = 0; gene < 5; ++gene) wish.push_back(static_cast<Gene>(random.below(6)));
    CHECK(space.valid(wish) == exact.valid(wish));
    CHECK(exact.valid(space.nearest(wish, random)));
  }
}

TEST_CASE("large spaces: one of which no config is found is refused with the constraint") {
  PartsWriter writer;
  for (int i = 0; i < 6; ++i)
    writer.parameter("P" + std::to_string(i), {2, 3, 5, 7, 11, 13, 17, 19});
  writer.constraint("P0 * P1 * P2 * P3 * P4 * P5 % 104729 == 104728");
  const std::string error = error_of([&] { (void)Space::build(writer.parts(), kTight); });
  CHECK(error.starts_with("s.yaml:7:1: space 's' is too large to be searched for valid configs"));
}

TEST_CASE("large spaces: an empty one is told by a sample of what is refused") {
  PartsWriter wide;
  for (int i = 0; i < 20; ++i) wide.parameter("P" + std::to_string(i), {1, 2, 3, 4, 5, 6});
  wide.constraint("P0 + P1 + P19 < 0");
  CHECK(error_of([&] { wide.build(); }) ==
        "s.yaml:21:1: no config is valid: 'P0 + P1 + P19 < 0' is the first to refuse 100000 of "
        "100000 random combinations");
}

}  // namespace fa_tune::test
