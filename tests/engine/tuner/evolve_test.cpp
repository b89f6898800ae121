// The whole loop on the emulator, at a small shape: determinism, stop and resume, budgets,
// duplicates.

#include "engine/tuner/evolve.hpp"

#include <filesystem>
#include <map>
#include <set>

#include <doctest/doctest.h>

#include "engine/device/local/open.hpp"
#include "engine/kernel/compile/nvrtc_compiler.hpp"
#include "engine/util/error.hpp"
#include "tests/engine/tuner/fixture.hpp"
#include "tests/engine/tuner/listeners.hpp"
#include "tests/forwarding_device.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;
using namespace fa_tune::device;
using namespace fa_tune::kernel;
using namespace fa_tune::tuner;

namespace {

// Short sequences, small heads and tiles: what a search does is the same, and NVRTC and the emulator
// have less to do. Heads this small are not swizzled.
const test::Replacements kSmall = {
    {"B: 1, H: 8, Lq: 512, Lk: 512, D: 64", "B: 1, H: 2, Lq: 64, Lk: 64, D: 32"},
    {"BLOCK_M: [4, 8, 16, 32, 64, 128]", "BLOCK_M: [4, 8, 16, 32, 64]"},
    {"BLOCK_N: [32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256]", "BLOCK_N: [32, 48, 64]"},
    {"BLOCK_M: 128, BLOCK_N: 128, WARPS_M: 4, WARPS_N: 1, STAGES: 1, LAYOUT: swizzled",
     "BLOCK_M: 64, BLOCK_N: 64, WARPS_M: 4, WARPS_N: 1, STAGES: 1, LAYOUT: padded"},
    {"evolved: {when: problem.D == 64", "evolved: {when: problem.D == 32"},
    {"BLOCK_M: 128, BLOCK_N: 256, WARPS_M: 8, WARPS_N: 1, STAGES: 1, LAYOUT: swizzled",
     "BLOCK_M: 32, BLOCK_N: 64, WARPS_M: 2, WARPS_N: 2, STAGES: 1, LAYOUT: padded"}};

const TuningTask& small() {
  static const TuningTask task = test::task("l4.yaml", kSmall);
  return task;
}

EvolveResult run(Store& store, const EvolveOptions& options, int stop_after = -1) {
  const auto device = open_device("emulator:l4", small().target, test::root());
  std::atomic<bool> stop{false};
  WatchingListener listener;
  int trials = 0;
  listener.each = [&](const TrialRow&) { stop = ++trials == stop_after; };
  return evolve(small(), *device, cached_nvrtc(), store, options, listener, stop);
}

EvolveOptions trials(int count, std::uint64_t seed = 3) {
  EvolveOptions options;
  options.trials = count;
  options.seed = seed;
  options.jobs = 2;
  options.final_suites = {"ragged"};
  return options;
}

// For who looks at no finals, which take most of a search's time.
EvolveOptions without_finals(EvolveOptions options) {
  options.finals = false;
  return options;
}

constexpr int kWhole = 28;

// A run that nothing disturbed, made once.
struct Whole {
  test::ScratchFolder folder;
  Store store{folder / "whole.db", Store::Mode::write};
  EvolveResult result = run(store, trials(kWhole));
};

const Whole& whole_run() {
  static const Whole made;
  return made;
}

// The emulator until a certain launch; that one is an illegal access, and then the device is gone.
class Fragile : public test::ForwardingDevice {
 public:
  Fragile(std::unique_ptr<Device> inner, int breaks_at)
      : ForwardingDevice(std::move(inner)), launches_left_(breaks_at) {}

  bool lost() const override { return launches_left_ <= 0; }
  std::expected<KernelHandle, Fault> load(const KernelImage& image) override {
    if (lost()) return std::unexpected(gone());
    return inner().load(image);
  }
  std::expected<void, Fault> launch(const Launch& launch) override {
    if (lost()) return std::unexpected(gone());
    if (--launches_left_ == 0)
      return std::unexpected(Fault{FaultKind::out_of_bounds, "illegal address"});
    return inner().launch(launch);
  }
  std::expected<Timing, Fault> time(const Launch& launch, const TimingPlan& plan) override {
    if (lost()) return std::unexpected(gone());
    return inner().time(launch, plan);
  }

 private:
  static Fault gone() { return {FaultKind::device_lost, "gone"}; }

  int launches_left_;
};

// The emulator with a meter, which may fall silent.
class Metered : public test::ForwardingDevice {
 public:
  Metered(std::unique_ptr<Device> inner, int readings)
      : ForwardingDevice(std::move(inner)), readings_(readings) {}

  std::optional<double> joules() override {
    if (readings_-- <= 0) return std::nullopt;
    return joules_ += 125;
  }

 private:
  int readings_;
  double joules_ = 1e6;
};

// What a run found, without what differs from one clock to another; with `finals`, also who came to
// the finals.
std::vector<std::string> fingerprint(const Store& store, std::int64_t run, bool finals = true) {
  std::vector<std::string> lines;
  for (const TrialRow& trial : store.trials(run)) {
    std::string line = std::to_string(trial.number) + trial.config_json + trial.operation +
                       (finals || trial.stage != "final" ? trial.stage : "screen") +
                       to_text(trial.outcome) + trial.finding + trial.code_hash;
    if (trial.screen_time) line += std::to_string(trial.screen_time->us.value);
    for (const ParentRow& parent : store.parents(trial.id))
      line += "<" + std::to_string(store.trial(parent.parent)->number) + parent.genes_json;
    lines.push_back(line);
  }
  return lines;
}

}  // namespace

TEST_CASE("a search that learned from an earlier run goes on as if it had not stopped") {
  test::ScratchFolder folder;
  std::map<std::string, std::string> lineage;
  {
    Store store(folder.path() / "whole.db", Store::Mode::write);
    run(store, without_finals(trials(14)));
  }
  std::filesystem::copy_file(folder.path() / "whole.db", folder.path() / "halved.db");
  for (const char* name : {"whole.db", "halved.db"}) {
    Store store(folder.path() / name, Store::Mode::write);
    EvolveOptions options = without_finals(trials(20, 5));
    options.earlier = choose_prior_runs(store, small(), store.run(1)->device_name);
    REQUIRE(options.earlier.size() == 1);
    if (std::string(name) == "halved.db") {
      run(store, options, 12);
      options.resume = 2;
      options.earlier.clear();
    }
    const EvolveResult result = run(store, options);
    CHECK(result.run == 2);
    for (const TrialRow& trial : store.trials(2))
      lineage[name] += trial.operation + trial.config_json + "\n";
    CHECK(lineage[name].find("transfer") != std::string::npos);
  }
  CHECK(lineage["whole.db"] == lineage["halved.db"]);
}

TEST_CASE("a known best is timed beside the run's, and no trial of it") {
  const Whole& whole = whole_run();
  REQUIRE(small().space.known_best().size() == 1);
  const std::string known = small().space.known_best().front().config.to_json();
  const auto found = whole.store.trials(1);
  // Among those that presets and chance begin with.
  for (std::size_t i = 0; i < 8; ++i) CHECK(found[i].config_json != known);
  REQUIRE(whole.result.known_best.size() == 1);
  const KnownBest& beside = whole.result.known_best.front();
  CHECK(beside.name == "evolved");
  CHECK(beside.message.empty());
  REQUIRE(beside.ratio.has_value());
  CHECK(beside.ratio->value > 0.5);
  CHECK(beside.ratio->value < 2);
}

TEST_CASE("a run is the same for a seed, stopped or not, and never tries a config twice") {
  const Store& whole_store = whole_run().store;
  const EvolveResult& whole = whole_run().result;
  CHECK_FALSE(whole.interrupted);
  CHECK(whole.counts.trials == kWhole);
  CHECK(whole.counts.passed > 14);
  const auto expected = fingerprint(whole_store, whole.run);
  REQUIRE(expected.size() == kWhole);
  CHECK(whole_store.run(whole.run)->state == "done");

  std::set<std::string> configs;
  for (const TrialRow& trial : whole_store.trials(whole.run)) configs.insert(trial.config_json);
  CHECK(configs.size() == kWhole);

  test::ScratchFolder folder;
  Store store(folder.path() / "a.db", Store::Mode::write);
  // Stopped in the middle of a generation, twice.
  EvolveResult part = run(store, trials(kWhole), 7);
  CHECK(part.interrupted);
  CHECK(store.run(part.run)->state == "interrupted");
  EvolveOptions again = trials(kWhole);
  again.resume = part.run;
  CHECK(run(store, again, 12).interrupted);
  CHECK_FALSE(run(store, again).interrupted);
  CHECK(fingerprint(store, part.run) == expected);

  CHECK(fingerprint(store, run(store, without_finals(trials(4, 4))).run) !=
        std::vector<std::string>(expected.begin(), expected.begin() + 4));
}

TEST_CASE("a finished run can be given more budget and goes on as if it had had it") {
  test::ScratchFolder folder;
  Store store(folder.path() / "a.db", Store::Mode::write);
  const auto expected = fingerprint(whole_run().store, whole_run().result.run);
  EvolveOptions options = trials(13);
  const std::int64_t first = run(store, options).run;
  options.trials = kWhole;
  options.resume = first;
  run(store, options);
  const auto found = fingerprint(store, first);
  // The finals of the shorter run may have moved a trial's stage on; everything else agrees.
  REQUIRE(found.size() == expected.size());
  int differing = 0;
  for (std::size_t i = 0; i < found.size(); ++i) differing += found[i] != expected[i];
  CHECK(differing <= 2);
}

TEST_CASE("children carry their parents and the genes that changed") {
  const Store& store = whole_run().store;
  int children = 0;
  for (const TrialRow& trial : store.trials(whole_run().result.run)) {
    const auto parents = store.parents(trial.id);
    CHECK(parents.empty() == (trial.operation == "preset" || trial.operation == "random"));
    for (const ParentRow& parent : parents) {
      ++children;
      CHECK(store.trial(parent.parent)->number < trial.number);
    }
  }
  CHECK(children > 10);
}

TEST_CASE("a kernel that costs the device is charged alone, and the run can go on") {
  test::ScratchFolder folder;
  Store store(folder.path() / "a.db", Store::Mode::write);
  const Whole& whole = whole_run();
  const auto expected = fingerprint(whole.store, whole.result.run, false);

  Fragile device(open_device("emulator:l4", small().target, test::root()), 100);
  WatchingListener listener;
  const std::atomic<bool> stop{false};
  EvolveOptions options = without_finals(trials(kWhole));
  const EvolveResult broken =
      evolve(small(), device, cached_nvrtc(), store, options, listener, stop);
  CHECK(broken.device_lost);
  CHECK(store.run(broken.run)->state == "interrupted");
  const auto kept = store.trials(broken.run);
  REQUIRE(kept.size() > 2);
  REQUIRE(kept.size() < kWhole);
  for (const TrialRow& trial : kept)
    CHECK((trial.outcome == Outcome::failed) == (trial.number == kept.back().number));
  CHECK(kept.back().finding == "fault");

  options.resume = broken.run;
  CHECK_FALSE(run(store, options).device_lost);
  const auto found = fingerprint(store, broken.run, false);
  REQUIRE(found.size() == kWhole);
  // Within its generation only the one that was charged, and what had been its duplicate.
  const std::int64_t charged = whole.store.trial(whole.result.run, kept.back().number)->id;
  for (std::size_t i = 0; i < 16; ++i) {
    const auto trial = whole.store.trial(whole.result.run, static_cast<std::int64_t>(i + 1));
    CHECK((found[i] != expected[i]) == (trial->id == charged || trial->duplicate_of == charged));
  }
}

TEST_CASE("what a search drew is kept with it, if the device tells") {
  for (const int readings : {2, 1}) {
    test::ScratchFolder folder;
    Store store(folder / "a.db", Store::Mode::write);
    Metered device(open_device("emulator:l4", small().target, test::root()), readings);
    const std::atomic<bool> stop{false};
    WatchingListener listener;
    const auto done =
        evolve(small(), device, cached_nvrtc(), store, without_finals(trials(1)), listener, stop);
    const auto sessions = store.sessions(done.run);
    REQUIRE(sessions.size() == 1);
    const bool told = readings == 2;
    CHECK(sessions[0].breakdown_json.find(told ? "\"joules\":125.0" : "\"joules\":null") !=
          std::string::npos);
  }
}

TEST_CASE("what cannot be resumed is refused") {
  test::ScratchFolder folder;
  Store store(folder.path() / "a.db", Store::Mode::write);
  EvolveOptions options = without_finals(trials(3));
  const std::int64_t first = run(store, options).run;
  options.resume = first + 1;
  CHECK_THROWS_AS(run(store, options), UserError);

  options.resume = first;
  const TuningTask other =
      test::task("l4.yaml", {{"STAGES: {values: [1, 2, 3]", "STAGES: {values: [1, 2]"}});
  const auto device = open_device("emulator:l4", other.target, test::root());
  WatchingListener listener;
  const std::atomic<bool> stop{false};
  CHECK_THROWS_AS(evolve(other, *device, cached_nvrtc(), store, options, listener, stop),
                  UserError);
}

TEST_CASE("a run that ends by an exception is interrupted, and goes on") {
  struct Broken : EvolveListener {
    void on_trial(const TrialRow& trial, const RunCounts&) override {
      if (trial.number == 3) throw MachineError("planted");
    }
    void on_final(const TrialRow&, int, int) override {}
  };
  const test::ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  const auto device = open_device("emulator:l4", small().target, test::root());
  const std::atomic<bool> stop{false};
  Broken listener;
  EvolveOptions options = trials(6);
  CHECK_THROWS_WITH_AS(evolve(small(), *device, cached_nvrtc(), store, options, listener, stop),
                       "planted", MachineError);
  REQUIRE(store.run(1));
  CHECK(store.run(1)->state == "interrupted");
  CHECK(store.holder_of(1).empty());
  options.resume = 1;
  CHECK(run(store, options).counts.trials == 6);
  CHECK(store.run(1)->state == "done");
}

}  // namespace fa_tune::test
