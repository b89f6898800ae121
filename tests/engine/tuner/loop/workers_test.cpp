// A whole search whose kernels end the process they run in: exactly those are charged, all else is
// as it is without them.

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

#include <doctest/doctest.h>

#include "engine/device/local/open.hpp"
#include "engine/kernel/compile/nvrtc_compiler.hpp"
#include "engine/tuner/evolve.hpp"
#include "engine/util/error.hpp"
#include "engine/worker/remote_device.hpp"
#include "tests/engine/tuner/fixture.hpp"
#include "tests/engine/tuner/listeners.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;
using namespace fa_tune::device;
using namespace fa_tune::kernel;
using namespace fa_tune::tuner;
using namespace fa_tune::worker;

namespace {

const TuningTask& tiny() {
  // Small tiles: the compiler takes most of the time here.
  static const TuningTask task = test::task(
      "l4.yaml",
      {{"B: 1, H: 8, Lq: 512, Lk: 512, D: 64", "B: 1, H: 1, Lq: 32, Lk: 32, D: 32"},
       {"BLOCK_M: [4, 8, 16, 32, 64, 128]", "BLOCK_M: [4, 8, 16, 32]"},
       {"BLOCK_N: [32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256]", "BLOCK_N: [32, 48]"},
       {"BLOCK_M: 128, BLOCK_N: 128, WARPS_M: 4, WARPS_N: 1, STAGES: 1, LAYOUT: swizzled",
        "BLOCK_M: 32, BLOCK_N: 32, WARPS_M: 2, WARPS_N: 1, STAGES: 1, LAYOUT: padded"}});
  return task;
}

// What is asked for does not depend on what became of it, so that two runs can be compared whole.
EvolveOptions random_trials(int count) {
  EvolveOptions options;
  options.trials = count;
  options.seed = 2;
  options.strategy = "random";
  options.jobs = 2;
  options.final_suites = {"quick"};
  return options;
}

EvolveResult search_tiny(Store& store, Device& device, const EvolveOptions& options) {
  test::QuietListener listener;
  const std::atomic<bool> stop{false};
  return evolve(tiny(), device, cached_nvrtc(), store, options, listener, stop);
}

RemoteOptions remote() {
  RemoteOptions options;
  options.words = {FA_TUNE_BAD_WORKER, "--device", "l4"};
  options.deadlines = Deadlines::of_emulator();
  options.pauses = {std::chrono::milliseconds(0), std::chrono::milliseconds(20)};
  return options;
}

// Which kernels end their process, and how, for all workers of a test.
class Plan {
 public:
  Plan() { setenv("FA_TUNE_BAD_WORKER_FOLDER", folder_.path().c_str(), 1); }
  ~Plan() { unsetenv("FA_TUNE_BAD_WORKER_FOLDER"); }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  void add(const TrialRow& trial, const std::string& accident) {
    std::ofstream(folder_ / "plan", std::ios::app) << trial.code_hash << " " << accident << "\n";
  }

 private:
  test::ScratchFolder folder_;
};

// What a trial came to, but for clocks; the stage only up to the screen.
std::string outcome_of_trial(const TrialRow& trial) {
  return trial.config_json + trial.operation + to_text(trial.outcome) + trial.finding +
         trial.message + trial.code_hash +
         std::to_string(trial.screen_time ? trial.screen_time->us.value : 0) +
         std::to_string(trial.worst_ratio) + std::to_string(trial.duplicate_of);
}

constexpr int kSoundTrials = 24;

// The trials of a run in which nothing ends; a shorter one's are the first of these.
const std::vector<TrialRow>& sound() {
  static const std::vector<TrialRow> trials = [] {
    test::ScratchFolder folder;
    Store store(folder.path() / "sound.db", Store::Mode::write);
    const auto device = open_remote(remote());
    search_tiny(store, *device, random_trials(kSoundTrials));
    return store.trials(1);
  }();
  return trials;
}

std::vector<TrialRow> right_ones() {
  std::vector<TrialRow> right;
  for (const TrialRow& trial : sound())
    if (trial.outcome == Outcome::passed) right.push_back(trial);
  return right;
}

void check_as_sound(const Store& store, std::size_t count) {
  const auto found = store.trials(1);
  REQUIRE(found.size() == count);
  for (std::size_t i = 0; i < count; ++i)
    CHECK(outcome_of_trial(found[i]) == outcome_of_trial(sound().at(i)));
}

int attempts(const Store& store, const TrialRow& trial) {
  // record_attempt counts what is there; nobody needs this database any more.
  return const_cast<Store&>(store).record_attempt(trial.run, trial.number, "{}") - 1;
}

}  // namespace

TEST_CASE("a worker gives the same run as no worker") {
  test::ScratchFolder folder;
  Store store(folder.path() / "here.db", Store::Mode::write);
  const auto device = open_device("emulator:l4", tiny().target, test::root());
  search_tiny(store, *device, random_trials(12));
  check_as_sound(store, 12);
}

TEST_CASE("an engine that dies says nothing of the kernel under way, if that runs apart") {
  test::ScratchFolder folder;
  Store store(folder.path() / "again.db", Store::Mode::write);
  const auto device = open_remote(remote());
  search_tiny(store, *device, random_trials(6));
  // What engines leave that died three times in the seventh trial.
  for (int death = 0; death < 3; ++death) store.record_attempt(1, 7, sound().at(6).config_json);
  EvolveOptions more = random_trials(10);
  more.resume = 1;
  search_tiny(store, *device, more);
  check_as_sound(store, 10);
}

TEST_CASE("kernels that end their process are charged, and only they") {
  const auto right = right_ones();
  REQUIRE(right.size() >= 14);
  Plan plan;
  const std::map<std::size_t, std::string> accidents = {
      {1, "segfault"}, {3, "exit"},  {4, "mid_frame"},      {6, "sticky"},
      {8, "garbage"},  {9, "flood"}, {11, "segfault_once"}, {13, "hang"}};
  for (const auto& [index, accident] : accidents) plan.add(right[index], accident);
  RemoteOptions impatient = remote();
  // Some hundred times what an honest launch takes here.
  impatient.deadlines.launch = std::chrono::milliseconds(2500);
  const auto bad = open_remote(impatient);
  test::ScratchFolder folder;
  Store store(folder.path() / "charged.db", Store::Mode::write);
  const EvolveResult result = search_tiny(store, *bad, random_trials(kSoundTrials));
  CHECK(result.trouble.empty());
  CHECK_FALSE(result.device_lost);
  CHECK(store.run(1)->state == "done");

  std::map<std::int64_t, std::string> planned;  // by number
  std::set<std::int64_t> duplicates;            // of those, by number
  for (const auto& [index, accident] : accidents) planned[right[index].number] = accident;
  for (const TrialRow& trial : sound())
    // In a database of one run that nothing interrupted ids are numbers.
    if (trial.duplicate_of != 0 && planned.contains(trial.duplicate_of))
      duplicates.insert(trial.number);
  for (const TrialRow& trial : store.trials(1)) {
    const auto accident = planned.find(trial.number);
    CAPTURE(trial.number);
    CAPTURE(trial.message);
    if (accident == planned.end() || accident->second == "flood" ||
        accident->second == "segfault_once") {
      // A flood is read and forgotten; a single death is no verdict.
      if (!duplicates.contains(trial.number))
        CHECK(outcome_of_trial(trial) ==
              outcome_of_trial(sound().at(static_cast<std::size_t>(trial.number - 1))));
      if (accident != planned.end())
        CHECK(attempts(store, trial) == (accident->second == "flood" ? 1 : 2));
      continue;
    }
    CAPTURE(accident->second);
    CHECK(trial.outcome == Outcome::failed);
    CHECK_FALSE(trial.screen_time.has_value());
    if (accident->second == "sticky") {
      CHECK(trial.finding == "fault");
      CHECK(attempts(store, trial) == 1);
    } else {
      CHECK(trial.finding == (accident->second == "hang" ? "hang" : "crash"));
      CHECK(test::has(trial.message, "the process that ran it was lost twice: launch: "));
      CHECK(attempts(store, trial) == 2);
    }
  }

  // The verdict is kept: in the next run of the same database nothing dies any more.
  const auto again = open_remote(impatient);
  search_tiny(store, *again, random_trials(kSoundTrials));
  int kept = 0;
  for (const TrialRow& trial : store.trials(2)) {
    if (trial.finding != "crash" && trial.finding != "hang") continue;
    ++kept;
    CHECK(test::has(trial.message, "as in trial "));
    CHECK(attempts(store, trial) == 0);
  }
  CHECK(kept == 5);
  CHECK(again->deaths().size() == 1);  // the sticky one
}

TEST_CASE("a row of deaths opens a breaker, and the run can be resumed") {
  test::ScratchFolder folder;
  Store store(folder.path() / "a.db", Store::Mode::write);
  {
    Plan plan;
    for (const TrialRow& trial : right_ones()) plan.add(trial, "segfault");
    const auto device = open_remote(remote());
    const EvolveResult result = search_tiny(store, *device, random_trials(kSoundTrials));
    CHECK(test::has(result.trouble, "8 kernels in a row ended the process"));
    CHECK(store.run(1)->state == "interrupted");
    CHECK(store.trials(1).size() < kSoundTrials);
  }
  EvolveOptions options = random_trials(12);
  options.resume = 1;
  const auto device = open_remote(remote());
  CHECK(search_tiny(store, *device, options).trouble.empty());
  CHECK(store.trials(1).size() == 12);
}

TEST_CASE("a device that is set aside ends the run, and what it was about is tried again") {
  test::ScratchFolder folder;
  Store store(folder.path() / "a.db", Store::Mode::write);
  {
    Plan plan;
    const TrialRow wedge = right_ones().at(4);
    plan.add(wedge, "wedge");
    RemoteOptions impatient = remote();
    impatient.deadlines.launch = std::chrono::milliseconds(2500);
    const auto device = open_remote(impatient);
    const EvolveResult result = search_tiny(store, *device, random_trials(12));
    CHECK(result.device_lost);
    check_as_sound(store, static_cast<std::size_t>(wedge.number - 1));
  }
  EvolveOptions options = random_trials(12);
  options.resume = 1;
  const auto device = open_remote(remote());
  search_tiny(store, *device, options);
  check_as_sound(store, 12);
}

}  // namespace fa_tune::test
