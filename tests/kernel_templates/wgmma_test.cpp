// The template for Hopper's tensor cores under all of the emulator's checks: variants that use its
// parts together are accepted. What must be refused stands in kernel_templates/attention/faults.

#include <doctest/doctest.h>

#include "engine/tuner/trial/compile_stage.hpp"
#include "tests/engine/tuner/fixture.hpp"

namespace fa_tune::test {

using namespace fa_tune::gate;
using namespace fa_tune::tuner;

namespace {

const std::string kBase =
    R"({"template":"wgmma","CONSUMERS":2,"BLOCK_N":32,"STAGES":2,"OVERLAP":"ahead","PV_PARTS":1,)"
    R"("PING_PONG":false,"RESCALE":"always","EXP_POLYNOMIAL":0,"Q_PLACE":"in_shared","Q_STAGES":1,)"
    R"("CARRY":false,"O_PLACE":"over_q","HEAD_GROUP":1,"CLUSTER":1,"BLOCKS":1,"PERSISTENT":true})";

struct Shape {
  int head_dim = 64;
  bool causal = false;
  bool bottom_right = false;
};

test::Replacements space_of(const Shape& shape) {
  test::Replacements change;
  if (shape.causal) change.emplace_back("causal: false", "causal: true");
  if (shape.bottom_right)
    change.emplace_back("causal: false", "causal: true\n  causal_alignment: bottom_right");
  if (shape.head_dim == 128) change.emplace_back("D: 64}", "D: 128}");
  return change;
}

struct Fixture {
  explicit Fixture(const Shape& shape)
      : task(test::task("h100.yaml", space_of(shape))), bench(task, "emulator:h100") {}

  TuningTask task;
  test::Bench bench;
};

Fixture& plain() {
  static Fixture place({});
  return place;
}
Fixture& causal() {
  static Fixture place({.head_dim = 64, .causal = true});
  return place;
}

void accept(Fixture& place, const test::Replacements& change, const std::string& suite = "quick") {
  const Config config = Config::from_json(test::replace(kBase, change));
  CAPTURE(config.to_json());
  CHECK(place.task.space.index_of(config).has_value());
  const Verdict verdict = place.bench.gate(place.task.template_of(config), config, suite);
  CHECK_MESSAGE(verdict.passed(), verdict.finding, ": ", verdict.message, " at ", verdict.where);
}

}  // namespace

TEST_CASE("wgmma: variants that use its parts together are accepted") {
  accept(plain(), {});
  accept(causal(), {{R"("PING_PONG":false)", R"("PING_PONG":true)"},
                    {R"("CARRY":false)", R"("CARRY":true)"},
                    {R"("over_q")", R"("own")"},
                    {R"("CONSUMERS":2)", R"("CONSUMERS":3)"},
                    {R"("always")", R"("threshold")"}});
  accept(causal(), {{R"("ahead")", R"("ahead_held")"},
                    {R"("CARRY":false)", R"("CARRY":true)"},
                    {R"("Q_STAGES":1)", R"("Q_STAGES":2)"},
                    {R"("CLUSTER":1)", R"("CLUSTER":2)"},
                    {R"("in_shared")", R"("in_registers")"},
                    {R"("EXP_POLYNOMIAL":0)", R"("EXP_POLYNOMIAL":2)"}});
}

TEST_CASE("wgmma: D = 128 and products in turns") {
  Fixture place({.head_dim = 128, .causal = true});
  accept(place, {{R"("ahead")", R"("chained")"},
                 {R"("PV_PARTS":1)", R"("PV_PARTS":2)"},
                 {R"("CONSUMERS":2)", R"("CONSUMERS":1)"},
                 {R"("always")", R"("voted")"}});
  accept(place, {{R"("ahead")", R"("none")"},
                 {R"("PV_PARTS":1)", R"("PV_PARTS":2)"},
                 {R"("CONSUMERS":2)", R"("CONSUMERS":4)"}});
}

TEST_CASE("wgmma: zeros of a tile without keys do not meet the next tile's Q") {
  Fixture place({.bottom_right = true});
  for (const char* overlap : {R"("none")", R"("ahead")"})
    accept(place,
           {{R"("ahead")", overlap},
            {R"("CONSUMERS":2)", R"("CONSUMERS":1)"},
            {R"("Q_STAGES":1)", R"("Q_STAGES":2)"}},
           "ragged");
}

TEST_CASE("wgmma: what ptxas serializes is refused before it runs") {
  Fixture& place = plain();
  // The manifest knows better than to let this in: the fragments of 144 keys do not fit in 160
  // registers.
  const Config config = Config::from_json(test::replace(
      kBase, {{R"("CONSUMERS":2)", R"("CONSUMERS":3)"}, {R"("BLOCK_N":32)", R"("BLOCK_N":144)"}}));
  CHECK_FALSE(place.task.space.index_of(config).has_value());
  CompileStage compile_stage(place.task, place.bench.device(), place.bench.pool());
  FinishedTrial trial;
  CHECK_FALSE(compile_stage.pass(*compile_stage.prepare(config), trial));
  CHECK(trial.row.stage == "compile");
  CHECK(trial.row.finding == "not_as_written");
  CHECK_MESSAGE(trial.row.message.starts_with("C7512: "), trial.row.message);
}

}  // namespace fa_tune::test
