#include "engine/tuner/ablation/tuning_hints.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "tests/engine/tuner/fixture.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;
using namespace fa_tune::kernel;
using namespace fa_tune::report;
using namespace fa_tune::tuner;

namespace {

Config fa2_with(const std::vector<std::pair<std::string, Value>>& settings) {
  Config config = l4().space.preset("fa2")->config;
  for (const auto& [gene, value] : settings) config.set(gene, value);
  REQUIRE(!l4().space.why_invalid(config));
  return config;
}

// A run whose first trial is the preset fa2 at 100 us.
class RunOfTrials {
 public:
  RunOfTrials() {
    RunRow run;
    run.space = "l4";
    run.space_hash = "5ace";
    run.space_text = "x";
    run.problem = "attention";
    run.shape_json = "{}";
    run.device = "emulator:l4";
    run.arch = "sm_89";
    run.target = "l4";
    run.time_kind = "predicted";
    run.options_json = "{}";
    run.strategy = "random";
    run.state = "running";
    run_ = store_.begin_run(run);
    add(l4().space.preset("fa2")->config, 100);
  }

  std::int64_t add(const Config& config, std::optional<double> us) {
    TrialRow row;
    row.run = run_;
    row.number = ++last_;
    row.config_json = config.to_json();
    row.operation = "mutate";
    row.stage = us ? "screen" : "resources";
    row.outcome = us ? Outcome::passed : Outcome::failed;
    row.finding = us ? "passed" : "spill";
    if (us) row.screen_time = ScreenTime{{*us}};
    const std::vector<SampleRow> samples =
        us ? std::vector<SampleRow>{{0, "screen", {*us}}} : std::vector<SampleRow>();
    return store_.record_trial(row, {}, samples, "kernel");
  }

  TuningHints next(Bottleneck limit) const {
    return next_moves(store_, *store_.trial(1), l4(), limit);
  }

 private:
  test::ScratchFolder folder_;
  Store store_{folder_ / "a.db", Store::Mode::write};
  std::int64_t run_ = 0;
  std::int64_t last_ = 0;
};

const TuningHint& move_of(const TuningHints& next, const std::string& gene) {
  const auto found = std::ranges::find(next.moves, gene, &TuningHint::gene);
  REQUIRE(found != next.moves.end());
  return *found;
}

const HintOption& option_of(const TuningHint& move, const Value& value) {
  const auto found = std::ranges::find(move.options, value, &HintOption::value);
  REQUIRE(found != move.options.end());
  return *found;
}

Value number(std::int64_t value) { return value; }

}  // namespace

TEST_CASE("the genes that move a limit, what was tried behind what was not, the nearest first") {
  RunOfTrials run;
  const std::int64_t staged = run.add(fa2_with({{"BLOCK_N", number(64)}}), 90);
  const std::int64_t broken = run.add(fa2_with({{"BLOCK_N", number(80)}}), std::nullopt);
  run.add(fa2_with({{"BLOCK_N", number(96)}, {"EPILOGUE", std::string("direct")}}), 120);
  const TuningHints next = run.next(Bottleneck::shared_memory);
  CHECK(next.known);
  CHECK(move_of(next, "LAYOUT").value == Value(std::string("swizzled")));
  // What says shared memory first comes first; what says nothing of it is not there.
  CHECK(next.moves.front().gene == "LAYOUT");
  CHECK(std::ranges::find(next.moves, "STAGES", &TuningHint::gene) == next.moves.end());

  const TuningHint& block = move_of(next, "BLOCK_N");
  const HintOption& faster = option_of(block, number(64));
  CHECK(faster.trial == staged);
  CHECK(*faster.ratio == doctest::Approx(0.9));
  const HintOption& failed = option_of(block, number(80));
  CHECK(failed.trial == broken);
  CHECK(failed.outcome == "failed");
  CHECK(failed.finding == "spill");
  CHECK(!failed.ratio);
  const HintOption& other = option_of(block, number(96));
  CHECK(!other.trial);
  CHECK(other.trials == 1);
  CHECK(other.passed == 1);
  CHECK(*other.best_ratio == doctest::Approx(1.2));
  // 128 has 112 beside it, and 160, which needs other changes.
  CHECK(block.options.front().value == number(112));
  CHECK(!block.options.front().trial);
  CHECK(block.options.back().trial.has_value());
}

TEST_CASE("each option is a valid config, which says what else it changes") {
  const RunOfTrials run;
  for (const Bottleneck limit :
       {Bottleneck::latency, Bottleneck::shared_memory, Bottleneck::parallelism, Bottleneck::l2})
    for (const TuningHint& move : run.next(limit).moves)
      for (const HintOption& option : move.options) {
        CAPTURE(option.config.to_json());
        CHECK(!l4().space.why_invalid(option.config));
        CHECK(*option.config.find(move.gene) == option.value);
        Config as_told = l4().space.preset("fa2")->config;
        as_told.set(move.gene, option.value);
        for (const GeneChange& change : option.also) as_told.set(change.gene, *change.to);
        CHECK(as_told == option.config);
      }
}

TEST_CASE(
    "a template that says nothing, a limit that nothing moves, and a kernel without a space") {
  const RunOfTrials run;
  CHECK(run.next(Bottleneck::launch).known);
  CHECK(run.next(Bottleneck::launch).moves.empty());
  const Config config = l4().space.preset("fa2")->config;
  const TuningHints alone = next_moves(l4().template_of(config), config, Bottleneck::latency);
  CHECK(alone.moves.size() >= 5);
  for (const TuningHint& move : alone.moves) CHECK(move.options.empty());
  const Template silent =
      Template::parse("t",
                      "source: t.cu\nkernel: t\nproblem: p\nparameters: [A]\narguments: [x]\n"
                      "launch: {grid: [1], block: [1]}\n",
                      "code\n", "t.yaml");
  CHECK(!next_moves(silent, config, Bottleneck::latency).known);
}

}  // namespace fa_tune::test
