#include "engine/search/evolve/operators.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "engine/search/evolve/population.hpp"

namespace fa_tune::test {

using namespace fa_tune::expression;
using namespace fa_tune::search;
using namespace fa_tune::space;

namespace {

// A * B = 24 alone is valid: no single gene can move, and two can.
Space tied() {
  SpaceParts parts;
  parts.name = "tied";
  std::vector<Value> divisors;
  for (const std::int64_t value : {1, 2, 3, 4, 6, 8, 12, 24}) divisors.emplace_back(value);
  parts.parameters.push_back({"A", divisors, {}, {}});
  parts.parameters.push_back({"B", divisors, {}, {}});
  parts.parameters.push_back({"C", divisors, {}, {}});
  parts.constraints.push_back({Expression::parse("A * B == 24"), "", ""});
  return Space::build(std::move(parts));
}

Config config(std::int64_t a, std::int64_t b, std::int64_t c) {
  return Config({{"A", a}, {"B", b}, {"C", c}});
}

std::size_t which(std::string_view name) {
  return static_cast<std::size_t>(std::ranges::find(kOperatorNames, name) - kOperatorNames.begin());
}

int different(const Genome& a, const Genome& b) {
  int count = 0;
  for (std::size_t gene = 0; gene < a.size(); ++gene) count += a[gene] != b[gene];
  return count;
}

}  // namespace

TEST_CASE("every operator's children are valid, and differ from their parent as it says") {
  const Space space = tied();
  const Operators operators(space);
  Random random(4);
  const std::vector<Member> parents = {{1, space.genome(config(2, 12, 3)), 5},
                                       {2, space.genome(config(24, 1, 8)), 6}};
  const auto parent_of = [&](const Candidate& child) {
    return parents[child.parents.front() - 1].genome;
  };
  for (int i = 0; i < 200; ++i) {
    for (std::size_t op = 0; op < kOperatorNames.size(); ++op)
      CHECK(space.valid(operators.child(op, parents, random).genome));
    const Candidate mutant = operators.child(which("mutate"), parents, random);
    CHECK(mutant.operation == "mutate");
    CHECK(different(mutant.genome, parent_of(mutant)) == 1);
    const Candidate linked = operators.child(which("link"), parents, random);
    CHECK(linked.operation == "link");
    CHECK(different(linked.genome, parent_of(linked)) == 2);
    CHECK(linked.genome[2] == parent_of(linked)[2]);
    const Candidate crossed = operators.child(which("crossover"), parents, random);
    CHECK((crossed.operation == "random" || crossed.parents.size() == 2));
  }
}

TEST_CASE("without parents every child is random") {
  const Space space = tied();
  const Operators operators(space);
  Random random(4);
  for (std::size_t op = 0; op < kOperatorNames.size(); ++op) {
    const Candidate child = operators.child(op, {}, random);
    CHECK(child.operation == "random");
    CHECK(child.parents.empty());
    CHECK(space.valid(child.genome));
  }
}

TEST_CASE("populations: the fastest, the one fastest, and islands that take turns and pass on") {
  const Space space = tied();
  Archive archive(space);
  const auto elite = make_population("elite", archive), single = make_population("single", archive),
             islands = make_population("islands", archive);
  for (std::uint64_t number = 1; number <= 60; ++number) {
    const Evaluation told{number, space.at(number % space.count()), true,
                          100 - static_cast<double>(number), 1};
    archive.tell(told);
    islands->tell({number, space.genome(told.config), *told.time_us}, {});
  }
  CHECK(elite->parents().size() == 6);
  CHECK(elite->parents().front().number == 60);
  CHECK(elite->parents().back().number == 55);
  CHECK(single->parents().size() == 1);
  CHECK(single->parents().front().number == 60);

  std::vector<std::vector<Member>> turns;
  for (int turn = 0; turn < 4; ++turn) {
    islands->next_turn();
    turns.push_back(islands->parents());
  }
  for (int turn = 0; turn < 4; ++turn) {
    CHECK(turns[turn].size() == 6);
    CHECK(std::ranges::is_sorted(turns[turn], {}, &Member::time_us));
  }
  // Trial 40 was the fastest when islands exchanged theirs, and lives on two of them now.
  int homes = 0;
  for (const auto& turn : turns)
    homes += static_cast<int>(std::ranges::count(turn, std::uint64_t{40}, &Member::number));
  CHECK(homes == 2);
}

TEST_CASE("a better rank is chosen more often") {
  const std::vector<Member> parents = {{1, {}, 1}, {2, {}, 2}, {3, {}, 3}};
  Random random(9);
  std::vector<int> count(4, 0);
  for (int i = 0; i < 30000; ++i) ++count[choose_by_rank(parents, random).number];
  // 1/4 : 1/5 : 1/6
  CHECK(count[1] == doctest::Approx(30000 * 15.0 / 37).epsilon(0.05));
  CHECK(count[2] == doctest::Approx(30000 * 12.0 / 37).epsilon(0.05));
  CHECK(count[3] == doctest::Approx(30000 * 10.0 / 37).epsilon(0.05));
}

TEST_CASE(
    "earlier runs hand over their fastest in turns, no two alike, none that is invalid here") {
  const Space space = tied();
  PriorTrials one{"one", {}}, other{"other", {}};
  std::uint64_t number = 0;
  const auto told = [&](std::int64_t a, std::int64_t b, std::int64_t c, double us) {
    return Evaluation{++number, config(a, b, c), true, us, 1};
  };
  one.trials = {told(2, 12, 3, 5), told(2, 12, 4, 5.1), told(3, 8, 1, 6), told(5, 5, 1, 1)};
  other.trials = {told(24, 1, 24, 100), told(2, 12, 3, 101)};
  other.trials.push_back({++number, config(4, 6, 1), false, {}, 1});
  const auto chosen = configs_to_transfer(space, {one, other}, 6);
  REQUIRE(chosen.size() == 3);
  CHECK(space.config(chosen[0]) == config(2, 12, 3));
  CHECK(space.config(chosen[1]) == config(24, 1, 24));
  CHECK(space.config(chosen[2]) == config(3, 8, 1));
  CHECK(configs_to_transfer(space, {one, other}, 1).size() == 1);
  // What a run is known for comes before its fastest.
  one.pick = config(3, 8, 1);
  const auto with_pick = configs_to_transfer(space, {one, other}, 6);
  REQUIRE(with_pick.size() == 3);
  CHECK(space.config(with_pick[0]) == config(3, 8, 1));
  CHECK(space.config(with_pick[2]) == config(2, 12, 3));
}

}  // namespace fa_tune::test
