#include <sstream>

#include <doctest/doctest.h>

#include "engine/report/show.hpp"
#include "engine/report/table.hpp"
#include "engine/util/error.hpp"
#include "tests/db/fixture.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;
using namespace fa_tune::report;

namespace {

// 1 (100 us) -> 3 (failed) -> 4 (80 us), with 2 as the other parent of 4.
void fill_lineage(Store& store) {
  const std::int64_t run = store.begin_run(a_run());
  TrialRow seed = a_trial(run, 1, 100);
  seed.operation = "seed";
  store.record_trial(seed, {}, {}, "kernel 1");
  store.record_trial(a_trial(run, 2, 95), {}, {}, "kernel 2");
  TrialRow wrong = a_trial(run, 3, 1);
  wrong.stage = "gate";
  wrong.outcome = Outcome::failed;
  wrong.finding = "wrong_value";
  wrong.message =
      "ragged Lq=77, seed 5: O[12] is 0.25, expected 0.5 and at most 0.001 away, which "
      "is the kind of message that needs a second line";
  wrong.screen_time.reset();
  store.record_trial(wrong, {{0, 1, 0, R"({"BLOCK_M":[64,32]})"}}, {}, "kernel 3");
  TrialRow child = a_trial(run, 4, 80);
  child.operation = "crossover";
  store.record_trial(
      child, {{0, 3, 0, R"({"STAGES":[null,2]})"}, {0, 2, 1, R"({"WARPS":[4,8],"SWIZZLE":[0,1]})"}},
      {{0, "screen", {81, 80, 79}}}, "kernel 4");
  store.record_final(4, {82, 81.5, 82.5}, {82, 82.25});
}

}  // namespace

TEST_CASE("lineage: each step with what it changed and what that brought") {
  const ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  fill_lineage(store);
  CHECK(
      lineage_text(store, 4) ==
      R"(Lineage of trial 4, run 1. l4: attention B=1 D=64 H=8 Lq=512 causal=true on emulator of NVIDIA L4
(emulator:l4, sm_89), predicted times

trial  number  operator   outcome          predicted us  gain  genes changed
    1       1  seed       passed (screen)        100.00     -  -
    3       3  mutate     failed (gate)               -     -  BLOCK_M 64 -> 32
    4       4  crossover  passed (final)          80.00     -  STAGES none -> 2; against trial 2:
                                                               WARPS 4 -> 8, SWIZZLE 0 -> 1

From 100.00 to 80.00 us in 2 steps: gain +20.0%, predicted times.
In the finals trial 4 took 82.00 us.
)");
  CHECK(main_line(store, 4).size() == 3);
  CHECK(has(lineage_text(store, 1), "seed"));
  CHECK(has(message_of<UserError>([&] { (void)lineage_text(store, 9); }), "trial 9"));
}

TEST_CASE("lineage: the gain is against the main parent") {
  const ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  const std::int64_t run = store.begin_run(a_run());
  store.record_trial(a_trial(run, 1, 100), {}, {}, "kernel 1");
  store.record_trial(a_trial(run, 2, 50), {{0, 1, 0, "{}"}}, {}, "kernel 2");
  store.record_trial(a_trial(run, 3, 60), {{0, 2, 0, "{}"}}, {}, "kernel 3");
  const std::string text = lineage_text(store, 3);
  CHECK(has(text, "+50.0%  -\n"));
  CHECK(has(text, "-20.0%  -\n"));
  CHECK(has(text, "gain +40.0%"));
}

TEST_CASE("lineage: screens are compared at one clock") {
  const ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  const std::int64_t run = store.begin_run(a_run());
  TrialRow slow = a_trial(run, 1, 100);
  slow.detail_json = R"({"kilocycles":150})";  // at 1500 MHz
  store.record_trial(slow, {}, {}, "kernel 1");
  TrialRow fast = a_trial(run, 2, 75);
  fast.detail_json = R"({"kilocycles":135})";  // at 1800
  store.record_trial(fast, {{0, 1, 0, "{}"}}, {}, "kernel 2");
  const std::string text = lineage_text(store, 2);
  CHECK(has(text, " 83.33 "));
  CHECK(has(text, "gain +10.0%"));
  CHECK(has(text, "Screens as if at 1800 MHz, at which trial 2 had its own."));
}

TEST_CASE("show: all that is recorded, on a page") {
  const ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  fill_lineage(store);
  CHECK(show_text(store, 4) == R"(Trial 4: number 4 of run 1
  space             l4, hash 5ace
  problem           attention B=1 D=64 H=8 Lq=512 causal=true
  device            emulator:l4, emulator of NVIDIA L4
  compiled          NVRTC 13.0 for sm_89, limits of l4
  driver            -
  strategy          evolution, seed 18446744073709551615
  finished          2026-01-02T03:04:06Z
  config            mma BLOCK_M=4
  operator          crossover
  parent            trial 3: STAGES none -> 2
  other parent      trial 2: WARPS 4 -> 8, SWIZZLE 0 -> 1

Verdict
  outcome           passed at stage final
  gate cases        12
  worst error       0.4 of what is allowed, relative RMS 0.0001

Cost
  registers         96
  spilled           0 bytes
  static shared     1024 bytes
  dynamic shared    49152 bytes
  spent             compile 312.5 ms, gate 20.2 ms, measure 7.1 ms
  source            source4
  code              code4

Time, predicted
  screen            80.00 us, interval 79.20 .. 80.80
  final             82.00 us, interval 81.50 .. 82.50
  screen samples    3, from 79.00 to 81.00 us
  final samples     2, from 82.00 to 82.25 us

Detail
  bound             dram
)");
  const std::string failed = show_text(store, 3);
  CHECK(has(failed, "  outcome           failed at stage gate\n"));
  CHECK(has(failed, "  finding           wrong_value\n"));
  CHECK(has(failed, "none: the trial was not timed"));
  std::istringstream lines(failed);
  for (std::string line; std::getline(lines, line);) CHECK(display_width(line) <= kPageWidth);
  CHECK_THROWS_AS(show_text(store, 0), UserError);
  TrialRow counted = a_trial(1, 9, 50);
  counted.detail_json = R"({"waits_of_a_warp_us":{"busy unit":0.5,"barriers":0},"conflicts":[],)"
                        R"("parts":[{"a":1}]})";
  const std::string numbers = show_text(store, store.record_trial(counted, {}, {}, "kernel 9"));
  CHECK(has(numbers, R"(  waits_of_a_warp_us busy unit 0.5, barriers 0
  conflicts         none
  parts             [{"a":1}]
)"));
}

}  // namespace fa_tune::test
