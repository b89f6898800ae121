#include "engine/report/run_overview.hpp"

#include <sstream>

#include <doctest/doctest.h>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "engine/report/table.hpp"
#include "engine/util/error.hpp"
#include "engine/util/instant.hpp"
#include "tests/db/fixture.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;
using namespace fa_tune::report;
using namespace std::chrono_literals;

namespace {

const auto kBegan = *instant_of("2026-01-02T03:04:00Z");

constexpr const char* kStatus = R"({"phase": "search", "began": "2026-01-02T03:04:00.000Z",
  "budget": {"trials": 40, "seconds": null}, "waits_for": "compilers", "step": null,
  "devices": [
    {"device": "n1/emulator:l4", "state": "working", "does": "trial 12",
     "since": "2026-01-02T03:04:57.000Z", "why": null},
    {"device": "n2/emulator:l4", "state": "lost", "does": null,
     "since": "2026-01-02T03:04:30.000Z", "why": "node n2 is gone: it was cut"},
    {"device": "emulator:l4", "state": "idle", "does": null,
     "since": "2026-01-02T03:04:50.000Z", "why": null}]})";

// Ten trials, one each three seconds: on n1, on n2, in an earlier session, or nowhere.
struct Kept {
  ScratchFolder folder;
  std::filesystem::path path = folder / "a.db";
  Store store{path, Store::Mode::write};

  Kept() {
    store.begin_run(a_run());
    const char* const devices[] = {"n1/emulator:l4", "n2/emulator:l4", "emulator:l4#2", ""};
    for (int number = 1; number <= 10; ++number) {
      TrialRow trial = a_trial(1, number, 100 - number);
      trial.device = devices[number % 4];
      trial.at_ms = 3000 * number;
      trial.finished_at = fmt::format("2026-01-02T03:04:{:02}Z", 3 * number);
      if (number == 4) {
        trial.outcome = Outcome::failed;
        trial.stage = "gate";
        trial.screen_time.reset();
      }
      store.record_trial(trial, {}, {}, "kernel " + std::to_string(number));
    }
    store.record_status(1, {"2026-01-02T03:05:00.000Z", kStatus});
  }
  RunOverview at(std::chrono::seconds after) const {
    return run_overview(store, *store.run(1), kBegan + after);
  }
};

}  // namespace

TEST_CASE("a run that runs is told with its devices, rates and the time that is left") {
  const Kept kept;
  const RunOverview overview = kept.at(60s);
  CHECK(overview.runs);
  CHECK(overview.trials() == 10);
  CHECK(overview.passed == 9);
  CHECK(overview.failed == 1);
  // The last trial was at 30 s of the search, and that is half a minute ago.
  CHECK(overview.seconds == doctest::Approx(60));
  CHECK(*overview.per_second == doctest::Approx(10.0 / 60));
  CHECK(*overview.recently == doctest::Approx(10.0 / 60));
  CHECK(*overview.left_s == doctest::Approx(180));
  CHECK(overview.best->number == 10);
  // Of the last minute: trials 7 to 10.
  CHECK(*kept.at(80s).recently == doctest::Approx(4.0 / 60));

  REQUIRE(overview.devices.size() == 4);
  CHECK(overview.devices[0].node == "n1");
  CHECK(overview.devices[0].trials == 2);
  CHECK(*overview.devices[0].since_s == doctest::Approx(3));
  CHECK(overview.devices[1].state == "lost");
  CHECK(overview.devices[1].trials == 3);
  CHECK(overview.devices[2].node.empty());
  CHECK(overview.devices[3].name == "emulator:l4#2");
  CHECK(overview.devices[3].state == "earlier");

  const std::string text = overview_text(overview, "a.db");
  for (const char* const part :
       {"running (process ", ", searches; waits for compilers", "10 of 40: 9 passed, 1 failed",
        "0.2/s in the last minute; 0.2/s in all, 60 s of search", "trial 10, 90.00 us predicted",
        "3m 00s", "2 on 1 node: 1 working, 1 idle, 1 lost", "trial 12, for 3 s",
        "30 s ago: node n2 is gone: it was cut", "for 10 s", "in an earlier session"})
    CHECK_MESSAGE(has(text, part), part << " in\n" << text);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) CHECK(display_width(line) <= kPageWidth);
}

TEST_CASE("a run whose process was killed says what was at work then") {
  const Kept kept;
  // The row of a run that nobody works on, as a kill leaves it.
  const auto copy = kept.folder / "copy.db";
  std::filesystem::copy_file(kept.path, copy);
  std::filesystem::copy_file(kept.path.string() + "-wal", copy.string() + "-wal");
  const Store store(copy, Store::Mode::read);
  const RunOverview overview = run_overview(store, *store.run(1), kBegan + 3600s);
  CHECK(overview.standing == "killed");
  CHECK_FALSE(overview.runs);
  CHECK(overview.seconds == doctest::Approx(30));
  CHECK_FALSE(overview.recently.has_value());
  CHECK_FALSE(overview.left_s.has_value());
  const std::string text = overview_text(overview, "copy.db");
  CHECK(has(text, "trial 12 when the run was killed"));
  CHECK(has(text, "evolve --db copy.db --resume 1 --listen HOST:PORT --key FILE\n"));
  CHECK_FALSE(has(text, "waits for"));
}

TEST_CASE("a run that has ended has let go of its devices") {
  Kept kept;
  kept.store.set_run_state(1, "done");
  const RunOverview overview = kept.at(3600s);
  CHECK(overview.standing == "done");
  CHECK(overview.devices[0].state == "released");
  CHECK(overview.devices[0].does.empty());
  CHECK(overview.devices[1].state == "lost");
  CHECK(overview.count("released") == 2);
  const auto json = nlohmann::json::parse(overview_json(overview));
  CHECK(json["standing"] == "done");
  CHECK(json["trials"]["all"] == 10);
  CHECK(json["waits_for"] == nullptr);
  CHECK(json["left_s"] == nullptr);
  CHECK(json["devices"][1]["why"] == "node n2 is gone: it was cut");
  CHECK(json["best"]["time_us"] == 90);
}

TEST_CASE("the finals, and a run that is older than what is written of it") {
  Kept kept;
  auto status = nlohmann::json::parse(kStatus);
  status["phase"] = "finals";
  status["waits_for"] = nullptr;
  status["step"] = {{"name", "raced"}, {"done", 3}, {"of", 40}};
  kept.store.record_status(1, {"2026-01-02T03:05:00.000Z", status.dump()});
  const RunOverview finals = kept.at(60s);
  CHECK(has(overview_text(finals, "a.db"), ", finals: raced 3 of 40"));
  CHECK(finals.seconds == doctest::Approx(30));
  CHECK_FALSE(finals.left_s.has_value());

  CHECK(kept.store.begin_run(a_run()) == 2);
  const RunOverview older = run_overview(kept.store, *kept.store.run(2), kBegan);
  CHECK(older.devices.empty());
  const std::string text = overview_text(older, "a.db");
  CHECK(has(text, "0: 0 passed"));
  CHECK(has(text, "none yet"));
}

TEST_CASE("a status that no fa-tune wrote is refused in one line") {
  Kept kept;
  for (const char* const bad : {R"({})", R"({"phase": 3})", R"({"phase": "search"})"}) {
    kept.store.record_status(1, {"2026-01-02T03:05:00.000Z", bad});
    CHECK(has(message_of<UserError>([&] { (void)kept.at(60s); }), "none that fa-tune wrote"));
  }
}

TEST_CASE("of devices that come and go for hours the table names a dozen") {
  Kept kept;
  auto status = nlohmann::json::parse(kStatus);
  for (int i = 0; i < 30; ++i) {
    auto lost = status["devices"][1];
    lost["device"] = fmt::format("n2/emulator:l4#{}", i + 2);
    status["devices"].push_back(lost);
  }
  kept.store.record_status(1, {"2026-01-02T03:05:00.000Z", status.dump()});
  const std::string text = overview_text(kept.at(60s), "a.db");
  CHECK(has(text, "31 lost"));
  CHECK(has(text, "... and 19 more that are lost"));
}

TEST_CASE("what is left of a budget") {
  CHECK_FALSE(seconds_left({}, {}, 5, 10).has_value());
  CHECK(*seconds_left(20, {}, 5, 10) == doctest::Approx(30));
  CHECK(*seconds_left({}, 60.0, 5, 10) == doctest::Approx(50));
  CHECK(*seconds_left(20, 15.0, 5, 10) == doctest::Approx(5));
  CHECK(*seconds_left(6, 100.0, 5, 10) == doctest::Approx(2));
  CHECK(*seconds_left(20, 5.0, 25, 10) == doctest::Approx(0));
  CHECK_FALSE(seconds_left(20, {}, 0, 10).has_value());
}

}  // namespace fa_tune::test
