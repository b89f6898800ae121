#include "engine/report/held_pick.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/db/fixture.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;
using namespace fa_tune::report;

namespace {

// Runs of one key. A kernel is a letter, its screen, and how it does in the run's race: it ties
// first, is behind by a hair for certain, or by more.
struct Tuned {
  enum class Race { none, tied, hair, behind };
  struct Kernel {
    char name;
    double us;
    Race race;
    int registers = 96;
  };

  const ScratchFolder folder;
  Store store{folder / "a.db", Store::Mode::write};

  std::int64_t tune(const std::vector<Kernel>& kernels, const char* kind = "measured") {
    RunRow run = a_run();
    run.time_kind = kind;
    const std::int64_t id = store.begin_run(run);
    std::vector<FinalRow> finals;
    std::int64_t number = 0;
    for (const Kernel& kernel : kernels) {
      TrialRow trial = a_trial(id, ++number, kernel.us);
      trial.config_json = fmt::format(R"({{"template":"{}"}})", kernel.name);
      trial.registers = kernel.registers;
      const std::int64_t row = store.record_trial(trial, {}, {}, std::string(1, kernel.name));
      if (kernel.race == Race::none) continue;
      FinalRow& raced = finals.emplace_back();
      raced.trial = row;
      raced.place = static_cast<int>(finals.size());
      raced.tied_first = kernel.race == Race::tied;
      raced.rank_us = kernel.us;
      if (kernel.race == Race::hair) raced.ratio = {1.007, 1.004, 1.01};
      if (kernel.race == Race::behind) raced.ratio = {1.008, 1.0051, 1.011};
      raced.time = {{kernel.us}};
      raced.blocks = 24;
      raced.detail_json = "{}";
    }
    if (!finals.empty()) store.record_race(finals);
    return id;
  }
  std::string pick() {
    const auto held = held_pick(store, key_of(a_run()));
    return held ? held->trial.config_json.substr(13, 1) + std::to_string(held->run.id) : "none";
  }
};

using enum Tuned::Race;

}  // namespace

TEST_CASE("what the first run named stays until a race says better") {
  Tuned tuned;
  CHECK(tuned.pick() == "none");
  tuned.tune({{'a', 10, tied}, {'b', 10, tied, 64}, {'c', 12, behind, 32}});
  CHECK(tuned.pick() == "b1");  // of two that tie the one with fewer registers
  tuned.tune({{'d', 9, tied, 16}, {'e', 9.1, behind}});
  CHECK(tuned.pick() == "b1");  // nobody raced it
  tuned.tune({{'d', 9.9, tied, 16}, {'b', 10, tied, 64}});
  CHECK(tuned.pick() == "b1");  // it ties
  tuned.tune({{'d', 9.9, tied, 16}, {'b', 10, hair, 64}});
  CHECK(tuned.pick() == "b1");  // as good
  tuned.tune({{'d', 9.5, tied, 16}, {'b', 10, behind, 64}});
  CHECK(tuned.pick() == "d5");
  tuned.tune({{'b', 8, tied, 8}, {'d', 10, tied}});
  CHECK(tuned.pick() == "d5");
}

TEST_CASE("a screen replaces the pick only where it is further behind than screens may be wrong") {
  Tuned tuned;
  tuned.tune({{'a', 10, tied}});
  tuned.tune({{'b', 10, tied}, {'a', 10.7, none}});
  CHECK(tuned.pick() == "a1");
  tuned.tune({{'b', 10, none}, {'a', 10.7, none}});
  CHECK(tuned.pick() == "a1");
  tuned.tune({{'b', 10, tied}, {'a', 10.9, none}});
  CHECK(tuned.pick() == "b4");
}

TEST_CASE("a pick that fails is none") {
  Tuned tuned;
  tuned.tune({{'a', 10, tied}});
  const std::int64_t run = tuned.tune({{'b', 11, tied}});
  TrialRow failed = a_trial(run, 2, 1);
  failed.config_json = R"({"template":"a"})";
  failed.stage = "gate";
  failed.outcome = Outcome::failed;
  failed.finding = "wrong";
  failed.screen_time.reset();
  tuned.store.record_trial(failed, {}, {}, "a");
  CHECK(tuned.pick() == "b2");
}

TEST_CASE("a twin of the pick's kernel stands for it") {
  Tuned tuned;
  tuned.tune({{'a', 10, tied}});
  const std::int64_t run = tuned.tune({{'x', 10, tied}, {'y', 10, tied, 8}});
  TrialRow twin = a_trial(run, 3, 10);
  twin.config_json = R"({"template":"a"})";
  twin.outcome = Outcome::duplicate;
  twin.duplicate_of = tuned.store.trial(run, 1)->id;
  twin.screen_time.reset();
  tuned.store.record_trial(twin, {}, {}, "x");
  CHECK(tuned.pick() == "a1");
}

TEST_CASE("predicted times compare without a race") {
  Tuned tuned;
  tuned.tune({{'a', 10, none}, {'b', 10, none, 64}}, "predicted");
  CHECK(tuned.pick() == "b1");
  tuned.tune({{'c', 10, none, 16}}, "predicted");
  CHECK(tuned.pick() == "b1");
  tuned.tune({{'d', 9.99, none}, {'b', 10, none, 64}}, "predicted");
  CHECK(tuned.pick() == "d3");
  tuned.tune({{'e', 9.98, none}}, "predicted");
  CHECK(tuned.pick() == "e4");
}

TEST_CASE("a key is a problem, a shape and a device; of a custom problem the space as well") {
  const RunRow run = a_run();
  const auto other = [&](std::string RunRow::*member) {
    RunRow changed = run;
    changed.*member = "other";
    return key_of(changed) != key_of(run);
  };
  CHECK(other(&RunRow::problem));
  CHECK(other(&RunRow::shape_json));
  CHECK(other(&RunRow::device_name));
  CHECK_FALSE(other(&RunRow::space));
  CHECK_FALSE(other(&RunRow::space_hash));
  RunRow one = run, two = run;
  one.problem = two.problem = "custom";
  two.space = "other";
  CHECK(key_of(one) != key_of(two));
}

}  // namespace fa_tune::test
