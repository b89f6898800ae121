// A disk that fails: each call of every kind in turn, until a run's life passes untouched. What was
// committed stays, the error says what it is in one line, and the run goes on.

#include <SQLiteCpp/Exception.h>
#include <doctest/doctest.h>
#include <sqlite3.h>

#include "db/backup.hpp"
#include "db/check.hpp"
#include "engine/util/error.hpp"
#include "engine/util/hash.hpp"
#include "tests/db/fault_vfs.hpp"
#include "tests/db/fixture.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;

namespace {

constexpr int kTrials = 2;

// Long enough for pages of its own.
std::string text_of_source(std::int64_t number) {
  return std::string(5000, 'k') + std::to_string(number);
}

// A run from its beginning, or from where the file says that it is, to its end; then a backup.
// `done` is how many trials it knows to be on disk.
void live(const ScratchFolder& folder, std::size_t& done) {
  const auto path = folder / "a.db";
  {
    Store store(path, Store::Mode::write);
    std::int64_t run = 1;
    if (store.runs().empty()) {
      run = store.begin_run(a_run());
    } else {
      store.hold_run(run);
      store.set_run_state(run, "running");
    }
    for (auto number = static_cast<std::int64_t>(store.trials(run).size()) + 1; number <= kTrials;
         ++number) {
      TrialRow trial = a_trial(run, number, 100);
      trial.source_hash = sha256(text_of_source(number));
      store.record_attempt(run, number, trial.config_json);
      std::vector<ParentRow> parents;
      if (number > 1) parents = {{0, store.trial(run, number - 1)->id, 0, "{}"}};
      store.record_trial(trial, parents, {{0, "screen", {99, 101}}}, text_of_source(number));
      done = static_cast<std::size_t>(number);
    }
    const TrialRow last = *store.trial(run, kTrials);
    if (last.stage != "final") store.record_final(last.id, {90, 89, 91}, {90});
    store.record_insights(run, {{"effect", 1, true, "words", "{}"}});
    store.set_run_state(run, "done");
  }
  if (!std::filesystem::exists(folder / "copy.db")) backup_database(path, folder / "copy.db");
}

// All that matters of a database's content, in a line.
std::string content(const std::filesystem::path& path) {
  return ask(
      path,
      "SELECT (SELECT group_concat(state) FROM runs) || ' ' || (SELECT group_concat(number || "
      "stage || time_us || length(config)) FROM trials) || ' ' || (SELECT count(*) FROM "
      "lineage_edges) || ' ' || (SELECT group_concat(us) FROM samples) || ' ' || (SELECT "
      "group_concat(length(text)) FROM sources) || ' ' || (SELECT count(*) FROM insights)");
}

// Files that nobody needs any more. A log and its index are taken away by the next who writes.
std::string left_behind(const ScratchFolder& folder) {
  std::string names;
  for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
    const std::string name = file.path().filename();
    if (name != "a.db" && name != "copy.db" && !name.ends_with("-wal") && !name.ends_with("-shm"))
      names += name + " ";
  }
  return names;
}

struct Fault {
  DiskCall call;
  int code;
  bool for_good;
  bool users;  // UserError is right: the file may not be opened or written
};

constexpr Fault kFaults[] = {
    {DiskCall::open, SQLITE_CANTOPEN, false, true},
    {DiskCall::read, SQLITE_IOERR_READ, false, false},
    {DiskCall::write, SQLITE_IOERR_WRITE, false, false},
    {DiskCall::write, SQLITE_FULL, true, false},
    {DiskCall::truncate, SQLITE_IOERR_TRUNCATE, false, false},
    {DiskCall::sync, SQLITE_IOERR_FSYNC, false, false},
    {DiskCall::size, SQLITE_IOERR_FSTAT, false, false},
    {DiskCall::lock, SQLITE_BUSY, false, false},
    {DiskCall::lock, SQLITE_BUSY, true, false},
    {DiskCall::lock, SQLITE_IOERR_LOCK, false, false},
    {DiskCall::shared_map, SQLITE_IOERR_SHMMAP, false, false},
    {DiskCall::shared_lock, SQLITE_BUSY, false, false},
    {DiskCall::shared_lock, SQLITE_BUSY, true, false},
    {DiskCall::shared_lock, SQLITE_IOERR_SHMLOCK, false, false},
    {DiskCall::remove, SQLITE_IOERR_DELETE, false, false},
    {DiskCall::access, SQLITE_IOERR_ACCESS, false, false},
};

// Whether the message is one line about one of our two files.
bool is_told(const ScratchFolder& folder, const std::string& message) {
  return message.find('\n') == std::string::npos && message.starts_with((folder / "").string()) &&
         has(message, ".db");
}

}  // namespace

TEST_CASE("whichever call to the disk fails, what was committed stays and the run goes on") {
  FaultVfs vfs;
  std::string whole;
  {
    const ScratchFolder folder(memory_folder());
    std::size_t done = 0;
    live(folder, done);
    whole = content(folder / "a.db");
    CHECK(has(whole, "done"));
  }
  int tried = 0;
  int thrown = 0;
  // In a usual run every second call fails: of one fault the odd ones, of the next the even ones.
  const int step = thorough() ? 1 : 2;
  int first = 1;
  for (const Fault& fault : kFaults) {
    bool struck = true;
    int failed = -1;
    if (step == 2) first = 3 - first;
    for (int nth = first; struck; nth += step, ++failed) {
      const std::string what = to_text(fault.call) + " " + std::to_string(nth) + ", code " +
                               std::to_string(fault.code) + (fault.for_good ? " for good" : "");
      CAPTURE(what);
      const ScratchFolder folder(memory_folder());
      std::size_t done = 0;
      vfs.fail(fault.call, nth, fault.code, fault.for_good);
      std::string user, machine;
      try {
        live(folder, done);
      } catch (const UserError& error) {
        user = error.what();
      } catch (const MachineError& error) {
        machine = error.what();
      }
      struck = vfs.struck();
      vfs.fail_nothing();
      ++tried;
      thrown += user.empty() && machine.empty() ? 0 : 1;
      CAPTURE(user);
      CAPTURE(machine);
      if (!user.empty()) CHECK((fault.users && is_told(folder, user)));
      if (!machine.empty()) CHECK((!fault.users && is_told(folder, machine)));
      if (fault.code == SQLITE_FULL && !machine.empty()) CHECK(has(machine, "the disk is full"));
      if (fault.code == SQLITE_BUSY && !machine.empty()) CHECK(has(machine, "another process"));

      if (done > 0) {
        CHECK(Store(folder / "a.db", Store::Mode::read).trials(1).size() >= done);
        for (const std::string& defect : check_database(folder / "a.db").defects)
          FAIL_CHECK(defect);
      }
      live(folder, done);
      CHECK(content(folder / "a.db") == whole);
      CHECK(content(folder / "copy.db") == whole);
      CHECK(left_behind(folder).empty());
    }
    const std::string all = fault.for_good ? "all from each on" : "one at a time";
    MESSAGE(to_text(fault.call) << ", code " << fault.code << ": " << failed << " calls failed, "
                                << all);
  }
  MESSAGE(tried << " lives, " << thrown << " ended by an error");
  CHECK(thrown > 100);
}

TEST_CASE("a wall clock that jumps leaves a run whole") {
  FaultVfs vfs;
  // In steps of an hour back, from before 1970, and in steps of a year ahead.
  for (const auto& [start, step] :
       {std::pair<std::int64_t, std::int64_t>(1'700'000'000'000, -3'600'000),
        {-86'400'000, 1},
        {1'700'000'000'000, 31'536'000'000}}) {
    CAPTURE(start);
    const ScratchFolder folder(memory_folder());
    vfs.set_clock(start, step);
    std::size_t done = 0;
    live(folder, done);
    CHECK(done == kTrials);
    CHECK(check_database(folder / "a.db").defects.empty());
    CHECK(ask(folder / "a.db",
              "SELECT count(*) FROM attempts WHERE started_at NOT GLOB "
              "'[12][0-9][0-9][0-9]-[01][0-9]-[0-3][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9]Z'") ==
          "0");
  }
}

TEST_CASE("a reader of an older schema sees all of it or is told that the file is locked") {
  const ScratchFolder folder(memory_folder());
  make_first_schema(folder / "old.db");
  int locked = 0;
  for (const DiskCall call : {DiskCall::lock, DiskCall::shared_lock, DiskCall::read})
    for (int nth = 1; nth < 100; ++nth) {
      FaultVfs disk;
      disk.fail(call, nth, SQLITE_BUSY, true);
      CAPTURE(to_text(call));
      CAPTURE(nth);
      try {
        const Store store(folder / "old.db", Store::Mode::read);
        CHECK(store.runs().size() == 1);
        CHECK(store.trials(1).size() == 1);
      } catch (const MachineError&) {
        ++locked;
      }
      if (!disk.struck()) break;
    }
  CHECK(locked > 0);
}

}  // namespace fa_tune::test
