// A search that dies without a chance to tidy up, at every named place and at random moments, comes
// to the very trials, finals and insights that it comes to when left alone, and its files are
// whole.

#include <csignal>
#include <map>
#include <utility>

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "db/backup.hpp"
#include "db/check.hpp"
#include "engine/device/local/open.hpp"
#include "engine/report/recorded_run.hpp"
#include "engine/tuner/evolve.hpp"
#include "engine/util/fault_point.hpp"
#include "engine/util/hash.hpp"
#include "engine/util/random.hpp"
#include "engine/util/stopwatch.hpp"
#include "tests/engine/tuner/fixture.hpp"
#include "tests/engine/tuner/listeners.hpp"
#include "tests/engine/tuner/toy.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;
using namespace fa_tune::device;
using namespace fa_tune::kernel;
using namespace fa_tune::report;
using namespace fa_tune::tuner;

namespace {

constexpr int kTrialsToKill = 40;

// All that a person does with a run: begin it or go on with it, then copy the database away.
void begin_or_resume(const std::filesystem::path& folder) {
  const auto database = folder / "a.db";
  {
    const auto device = open_device("emulator:l4", toy().target, test::root());
    const auto compiler = with_cache(test::toy_compiler(), folder / "cache");
    Store store(database, Store::Mode::write);
    EvolveOptions options;
    options.trials = kTrialsToKill;
    options.seed = 3;
    options.jobs = 2;
    if (const auto runs = store.runs(); !runs.empty()) options.resume = runs.front().id;
    test::QuietListener listener;
    const std::atomic<bool> stop{false};
    if (!options.resume || store.run(*options.resume)->state != "done")
      evolve(toy(), *device, *compiler, store, options, listener, stop);
  }
  if (!std::filesystem::exists(folder / "copy.db")) backup_database(database, folder / "copy.db");
}

// Exits with 0, or with 1 if something was thrown: a test's own process must go on.
template <typename Action>
pid_t in_child(Action&& action) {
  const pid_t child = fork();
  if (child != 0) return child;
  try {
    action();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "the child says: %s\n", error.what());
    _exit(1);
  }
  _exit(0);
}

// What a process came to: its exit code, or the signal it died of as a negative number.
int outcome_in(int status) { return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status); }

int outcome_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return outcome_in(status);
}

// What there is to compare: the fingerprint, and what was learned from it.
std::string what_is_in(const std::filesystem::path& database) {
  const Store store(database, Store::Mode::read);
  const auto runs = store.runs();
  if (runs.size() != 1) return std::to_string(runs.size()) + " runs";
  std::string insights;
  for (const InsightRow& insight : store.insights(1))
    // What operators cost is a matter of the clock.
    insights += insight.kind + (insight.kind == "operator" ? "" : insight.insight_json);
  return runs.front().state + " " + run_fingerprint(store, 1) + " " + sha256(insights);
}

const std::string& left_alone() {
  static const std::string result = [] {
    const test::ScratchFolder folder(test::memory_folder());
    begin_or_resume(folder.path());
    return what_is_in(folder / "a.db");
  }();
  return result;
}

// A kernel that was under way at two deaths of the process that it runs in is charged with them, by
// design, so no trial is killed twice. Of a file that cannot be read just now nothing is known.
bool may_be_tried_again(const std::filesystem::path& database) {
  if (!std::filesystem::exists(database)) return false;
  try {
    SQLite::Database db(database.string(), SQLite::OPEN_READONLY);
    return db.execAndGet(
                 "SELECT count(*) FROM attempts a WHERE attempt > 1 AND NOT EXISTS (SELECT 1 FROM "
                 "trials t WHERE t.run = a.run AND t.number = a.number)")
               .getInt() > 0;
  } catch (const SQLite::Exception&) {
    return true;
  }
}

// Kills the process as it is after `pause_us`, or somewhat later: it is stopped, looked at, and
// goes on if this is no moment to kill it. What it came to.
int kill_after(pid_t child, std::uint64_t pause_us, const std::filesystem::path& database) {
  for (;;) {
    usleep(static_cast<useconds_t>(pause_us));
    kill(child, SIGSTOP);
    int status = 0;
    waitpid(child, &status, WUNTRACED);
    if (!WIFSTOPPED(status)) return outcome_in(status);
    const bool now = !may_be_tried_again(database);
    kill(child, now ? SIGKILL : SIGCONT);
    if (now) return outcome_of(child);
    pause_us = 200;
  }
}

void check_no_defects(const std::filesystem::path& database) {
  const DatabaseReport report = check_database(database);
  for (const std::string& defect : report.defects) FAIL_CHECK(defect);
}

void check_as_left_alone(const test::ScratchFolder& folder) {
  for (const char* name : {"a.db", "copy.db"}) {
    check_no_defects(folder / name);
    CHECK(what_is_in(folder / name) == left_alone());
  }
}

}  // namespace

TEST_CASE("the toy's search meets every outcome, and has one fingerprint, twice") {
  const test::ScratchFolder folder(test::memory_folder());
  begin_or_resume(folder.path());
  CHECK(what_is_in(folder / "a.db") == left_alone());
  const Store store(folder / "a.db", Store::Mode::read);
  std::map<std::string, int> stages;
  for (const TrialRow& trial : store.trials(1))
    ++stages[trial.stage + " " + to_text(trial.outcome)];
  for (const char* outcome : {"screen passed", "final passed", "gate failed", "compile failed",
                              "duplicate_code duplicate"}) {
    CAPTURE(outcome);
    CHECK(stages[outcome] > 0);
  }
}

TEST_CASE("killed at every named fault point, a run goes on as if it had not been") {
  const auto die_at = [](const test::ScratchFolder& folder, const std::string& spec) {
    return outcome_of(in_child([&] {
      arm_fault_point(spec);
      begin_or_resume(folder.path());
    }));
  };
  int kills = 0;
  std::map<std::string_view, int> kills_at;
  for (const FaultPoint& point : kFaultPoints) {
    // The first time that it is passed, the third time, and in a run that was killed before. A usual
    // run takes the last two in turns.
    std::vector<std::pair<std::string, std::string>> ways = {
        {"", ":1"}, {"", ":3"}, {"trial_committed:9", ":1"}};
    if (!thorough()) ways.erase(ways.begin() + 1 + kills_at.size() % 2);
    for (const auto& [before, passage] : ways) {
      const std::string spec = std::string(point.name) + passage;
      CAPTURE(before);
      CAPTURE(spec);
      const test::ScratchFolder folder(test::memory_folder());
      if (!before.empty()) CHECK(die_at(folder, before) == -SIGKILL);
      const int died = die_at(folder, spec);
      if (died != -SIGKILL) {
        CHECK(died == 0);
        continue;
      }
      ++kills;
      ++kills_at[point.name];
      CHECK(outcome_of(in_child([&] { begin_or_resume(folder.path()); })) == 0);
      check_as_left_alone(folder);
    }
    CAPTURE(point.name);
    CHECK(kills_at[point.name] > 0);
  }
  MESSAGE(kFaultPoints.size() << " fault points, " << kills << " kills");
}

TEST_CASE("killed at random moments, 40 times or 200, runs go on as if they had not been") {
  const int wanted = thorough() ? 200 : 40;
  (void)left_alone();
  const Stopwatch watch;
  {
    const test::ScratchFolder folder(test::memory_folder());
    CHECK(outcome_of(in_child([&] { begin_or_resume(folder.path()); })) == 0);
  }
  const auto whole_us = static_cast<std::uint64_t>(1000 * watch.milliseconds());
  Random random(20);
  int kills = 0;
  int runs = 0;
  while (kills < wanted) {
    const test::ScratchFolder folder(test::memory_folder());
    ++runs;
    for (bool done = false; !done;) {
      const pid_t child = in_child([&] { begin_or_resume(folder.path()); });
      const int died = kill_after(child, random.below(whole_us / 2), folder / "a.db");
      done = died == 0;
      if (!done) CHECK(died == -SIGKILL);
      kills += !done;
    }
    check_as_left_alone(folder);
  }
  MESSAGE(kills << " kills in " << runs << " runs");
}

}  // namespace fa_tune::test
