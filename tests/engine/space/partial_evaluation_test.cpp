#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "engine/space/expression_dag.hpp"
#include "engine/space/space_parts.hpp"
#include "engine/space/space_walk.hpp"
#include "tests/engine/space/parts_writer.hpp"
#include "tests/engine/space/random_spaces.hpp"

// A space is built from parts of its constraints; here it is held against SpaceWalk, which sets one
// parameter after another and evaluates every expression whole.
namespace fa_tune::test {

using namespace fa_tune::expression;
using namespace fa_tune::space;

namespace {

struct Collect {
  std::vector<Genome> genomes;

  static bool tries(std::size_t, Gene) { return true; }
  static void refused(std::size_t, const SpacePlan::Step&) {}
  void found(const Genome& genome) { genomes.push_back(genome); }
};

struct Walked {
  std::vector<Genome> genomes;
  std::string error = "no error";
};

Walked walk(SpaceParts parts) {
  order_parameters(parts);
  const SpacePlan plan(std::move(parts));
  Collect collect;
  Walked result;
  result.error = error_of([&] { SpaceWalk(plan, collect).run(); });
  result.genomes = std::move(collect.genomes);
  return result;
}

std::vector<Genome> list(const Space& space) {
  std::vector<Genome> genomes;
  for (std::uint64_t i = 0; i < space.count(); ++i) genomes.push_back(space.genome_at(i));
  std::ranges::sort(genomes);
  return genomes;
}

}  // namespace

TEST_CASE("partial evaluation: the same configs and the same errors as whole expressions") {
  Random random(31);
  int faulty = 0;
  int same_words = 0;
  int empty = 0;
  int empty_words = 0;
  int full = 0;
  for (int round = 0; round < 6000; ++round) {
    const SpaceParts parts = random_faulty_parts(random);
    const Walked expected = walk(parts);
    CAPTURE(round);
    Space space;
    const std::string error = error_of([&] { space = Space::build(parts); });
    if (expected.error != "no error") {
      // Groups are looked at one after the other, so that another mistake may come first.
      CHECK(error != "no error");
      ++faulty;
      same_words += error == expected.error ? 1 : 0;
    } else if (expected.genomes.empty()) {
      // For the same reason it may be an error that no config comes far enough to meet.
      CHECK(error != "no error");
      empty_words += error.find("no config is valid") != std::string::npos ? 1 : 0;
      ++empty;
    } else {
      REQUIRE(error == "no error");
      CHECK(list(space) == expected.genomes);
      ++full;
    }
  }
  CHECK(faulty > 500);
  CHECK(same_words > faulty * 9 / 10);
  CHECK(empty > 300);
  CHECK(empty_words > empty * 9 / 10);
  CHECK(full > 1000);
}

TEST_CASE("partial evaluation: a range holds all values, and what cannot fail does not") {
  Random random(32);
  const std::vector<std::string> names = {"P0", "P1", "P2"};
  int narrow = 0;
  int safe = 0;
  for (int round = 0; round < 4000; ++round) {
    const bool boolean = random.below(2) == 0;
    const std::string text = random_expression(random, names, boolean, 3);
    CAPTURE(text);
    PartsWriter writer;
    writer.parameter("P0", {-2, 0, 3}).parameter("P1", {1, 2, 5}).parameter("P2", {0, 1, 7});
    writer.constraint(text);
    const SpacePlan plan(writer.parts());
    const Terms terms(plan);
    if (terms.checks().empty()) continue;
    const Range range = terms.range(terms.checks().at(0).term);
    std::set<Value> values;
    bool fails = false;
    for (const int a : {-2, 0, 3})
      for (const int b : {1, 2, 5})
        for (const int c : {0, 1, 7}) {
          const Value cells[] = {number(a), number(b), number(c)};
          const std::string error = error_of([&] {
            values.insert(plan.parts().constraints[0].expression.evaluate(
                [&](const std::string& name) { return &cells[name[1] - '0']; }));
          });
          fails = fails || error != "no error";
        }
    CHECK((range.may_fail || !fails));
    for (const Value& value : values) {
      const auto* number = std::get_if<std::int64_t>(&value);
      const std::int64_t bits = number != nullptr ? *number : (std::get<bool>(value) ? 1 : 0);
      const bool is_inside = range.low <= bits && bits <= range.high;
      CHECK((range.kind == Range::Kind::anything || is_inside));
    }
    safe += range.may_fail ? 0 : 1;
    narrow += range.decided() ? 1 : 0;
  }
  CHECK(safe > 1000);
  CHECK(narrow > 100);
}

TEST_CASE("partial evaluation: an error behind an undecided part is found, one never met is not") {
  const auto error = [](const PartsWriter& writer) { return error_of([&] { writer.build(); }); };
  PartsWriter writer;
  writer.parameter("A", {0, 1}).parameter("B", {1, 2}).parameter("C", {1, 2});
  // Decided by A as soon as it is 1; for A = 0 it fails when C is there.
  CHECK(error(PartsWriter(writer).constraint("A == 1 or B * C / A > 0"))
            .find("division by zero in 'A == 1 or B * C / A > 0', where A = 0, B = 1, C = 1") !=
        std::string::npos);
  CHECK(PartsWriter(writer).constraint("A == 0 or B * C / A > 2").build().count() == 4 + 1);
  // Sure to refuse A = 0 long before C is there; the division that stands before it is met first.
  CHECK(error(PartsWriter(writer).constraint("B / A > 0").constraint("A * C > 0"))
            .find("division by zero in 'B / A > 0'") != std::string::npos);
  CHECK(PartsWriter(writer).constraint("C * B / A > 0").constraint("A * B > 0").build().count() ==
        4);
}

}  // namespace fa_tune::test
