// The template for Hopper's tensor cores under all of the emulator's checks: variants that use its
// parts together are accepted. What must be refused stands in kernel_templates/attention/faults.

#include <doctest/doctest.h>

#include "engine/tuner/trial/compile_stage.hpp"
#include "tests/kernel_templates/task_bench.hpp"

namespace fa_tune::test {

using namespace fa_tune::gate;
using namespace fa_tune::tuner;

namespace {

struct WgmmaShape {
  int head_dim = 64;
  bool causal = false;
  bool bottom_right = false;
};

test::Replacements wgmma_space(const WgmmaShape& shape) {
  test::Replacements change;
  if (shape.causal) change.emplace_back("causal: false", "causal: true");
  if (shape.bottom_right)
    change.emplace_back("causal: false", "causal: true\n  causal_alignment: bottom_right");
  if (shape.head_dim == 128) change.emplace_back("D: 64}", "D: 128}");
  return change;
}

TaskBench bench_of(const WgmmaShape& shape) {
  return {test::task("h100.yaml", wgmma_space(shape)), "emulator:h100"};
}

TaskBench& plain() {
  static TaskBench place = bench_of(WgmmaShape{});
  return place;
}
TaskBench& causal() {
  static TaskBench place = bench_of({.head_dim = 64, .causal = true});
  return place;
}

void accept_variant(TaskBench& place, const test::Replacements& change,
                    const std::string& suite = "quick") {
  place.accept(Config::from_json(test::replace(kWgmma, change)), suite);
}

}  // namespace

TEST_CASE("wgmma: variants that use its parts together are accepted") {
  accept_variant(plain(), {});
  accept_variant(causal(), {{R"("PING_PONG":false)", R"("PING_PONG":true)"},
                            {R"("CARRY":false)", R"("CARRY":true)"},
                            {R"("over_q")", R"("own")"},
                            {R"("CONSUMERS":2)", R"("CONSUMERS":3)"},
                            {R"("always")", R"("threshold")"}});
  accept_variant(causal(), {{R"("ahead")", R"("ahead_held")"},
                            {R"("CARRY":false)", R"("CARRY":true)"},
                            {R"("Q_STAGES":1)", R"("Q_STAGES":2)"},
                            {R"("CLUSTER":1)", R"("CLUSTER":2)"},
                            {R"("in_shared")", R"("in_registers")"},
                            {R"("EXP_POLYNOMIAL":0)", R"("EXP_POLYNOMIAL":2)"}});
}

TEST_CASE("wgmma: maxima only where the sums ask for them") {
  accept_variant(plain(), {{R"("always")", R"("by_sum")"}});
  accept_variant(causal(), {{R"("ahead")", R"("none")"},
                            {R"("PV_PARTS":1)", R"("PV_PARTS":2)"},
                            {R"("PING_PONG":false)", R"("PING_PONG":true)"},
                            {R"("always")", R"("by_sum")"}});
  accept_variant(causal(), {{R"("CARRY":false)", R"("CARRY":true)"},
                            {R"("over_q")", R"("own")"},
                            {R"("CLUSTER":1)", R"("CLUSTER":2)"},
                            {R"("always")", R"("by_sum")"}});
  accept_variant(causal(), {{R"("ahead")", R"("chained")"}, {R"("always")", R"("by_sum")"}});
}

TEST_CASE("wgmma: D = 128 and products in turns") {
  TaskBench place = bench_of({.head_dim = 128, .causal = true});
  accept_variant(place, {{R"("ahead")", R"("chained")"},
                         {R"("PV_PARTS":1)", R"("PV_PARTS":2)"},
                         {R"("CONSUMERS":2)", R"("CONSUMERS":1)"},
                         {R"("always")", R"("voted")"}});
  accept_variant(place, {{R"("ahead")", R"("none")"},
                         {R"("PV_PARTS":1)", R"("PV_PARTS":2)"},
                         {R"("CONSUMERS":2)", R"("CONSUMERS":4)"}});
}

TEST_CASE("wgmma: zeros of a tile without keys do not meet the next tile's Q") {
  TaskBench place = bench_of({.bottom_right = true});
  for (const char* overlap : {R"("none")", R"("ahead")"})
    for (const char* rescale : {R"("always")", R"("by_sum")"})
      accept_variant(place,
                     {{R"("ahead")", overlap},
                      {R"("CONSUMERS":2)", R"("CONSUMERS":1)"},
                      {R"("Q_STAGES":1)", R"("Q_STAGES":2)"},
                      {R"("always")", rescale}},
                     "ragged");
}

TEST_CASE("wgmma: of rows before a head's first one nothing is stored") {
  const std::string three = test::replace(kWgmma, {{R"("CONSUMERS":2)", R"("CONSUMERS":3)"}});
  causal().refuse("a warpgroup without rows stores", "before its tensor", Config::from_json(three),
                  {{"first_row < rows && (!CAUSAL || first_row >= 0)", "first_row < rows"}});
}

TEST_CASE("wgmma: ptxas may not fuse what tells whether an offset has moved") {
  // Else a GPU rescales sums by 1.0000001, where the PTX says 1 and leaves them alone.
  TaskBench& place = plain();
  const Config config =
      Config::from_json(test::replace(kWgmma, {{R"("always")", R"("threshold")"}}));
  CompileStage compile_stage(place.task, place.bench.device(), place.bench.pool());
  const auto variant = compile_stage.prepare(config);
  REQUIRE(variant->compiled());
  const std::string& ptx = variant->compiled()->image.bytes;
  std::size_t products = 0;
  for (std::size_t at = ptx.find("mul.rn.f32"); at != std::string::npos;
       at = ptx.find("mul.rn.f32", at + 1))
    ++products;
  // Of two rows the offset before and behind, with each of two ways through the loop.
  CHECK(products >= 4);
}

TEST_CASE("wgmma: what ptxas serializes is refused before it runs") {
  TaskBench& place = plain();
  // The manifest knows better than to let this in: the fragments of 144 keys do not fit in 160
  // registers.
  const Config config = Config::from_json(test::replace(
      kWgmma, {{R"("CONSUMERS":2)", R"("CONSUMERS":3)"}, {R"("BLOCK_N":32)", R"("BLOCK_N":144)"}}));
  CHECK_FALSE(place.task.space.index_of(config).has_value());
  CompileStage compile_stage(place.task, place.bench.device(), place.bench.pool());
  FinishedTrial trial;
  CHECK_FALSE(compile_stage.pass(*compile_stage.prepare(config), trial));
  CHECK(trial.row.stage == "compile");
  CHECK(trial.row.finding == "not_as_written");
  CHECK_MESSAGE(trial.row.message.starts_with("C7512: "), trial.row.message);
}

}  // namespace fa_tune::test
