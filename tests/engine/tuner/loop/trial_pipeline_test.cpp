// Trials between proposal and record, with compilers and devices that do what a test says, when it
// says so.
#include "engine/tuner/loop/trial_pipeline.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include <doctest/doctest.h>
#include <fmt/core.h>

#include "engine/util/error.hpp"
#include "tests/engine/tuner/toy.hpp"
#include "tests/forwarding_device.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;
using namespace fa_tune::device;
using namespace fa_tune::tuner;

namespace {

// Kernels of other names are others to who sees their source, and the same to who sees their code.
search::Proposal proposed(int work, const std::string& name = "a", bool compiles = true) {
  const std::string config = fmt::format(
      R"({{"template":"toy","BLOCK":32,"WORK":{},"FACTOR":2,"COMPILES":{},"NAME":"{}"}})", work,
      compiles, name);
  return {Config::from_json(config), "random", {}};
}

// Holds kernels of the names b and c back until these are let go.
class HoldingBAndC final : public kernel::Compiler {
 public:
  explicit HoldingBAndC(bool holds) {
    if (holds) held_ = {"b", "c"};
  }

  kernel::CompileOutcome compile(const kernel::CompileRequest& request) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] {
      return std::ranges::none_of(held_, [&](const std::string& name) {
        return has(request.source.text, fmt::format("#define NAME {}\n", name));
      });
    });
    lock.unlock();
    return inner_->compile(request);
  }
  std::string version() const override { return inner_->version(); }
  void let_go(std::set<std::string> except = {}) {
    const std::lock_guard lock(mutex_);
    held_ = std::move(except);
    changed_.notify_all();
  }

 private:
  std::unique_ptr<kernel::Compiler> inner_ = toy_compiler();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::string> held_;
};

// An emulator, and what becomes of each of its loads.
class Scripted : public ForwardingDevice {
 public:
  explicit Scripted(std::function<void(Scripted&)> on_load = {})
      : ForwardingDevice(toy_device()), on_load_(std::move(on_load)) {}

  bool apart() const override { return is_apart; }
  bool lost() const override { return is_lost; }
  bool ready() override { return !is_lost; }
  std::span<const Fault> deaths() const override { return died; }
  std::expected<KernelHandle, Fault> load(const KernelImage& image) override {
    ++loads;
    const std::size_t before = died.size();
    if (on_load_) on_load_(*this);
    if (died.size() > before) return std::unexpected(died.back());
    return ForwardingDevice::load(image);
  }

  std::atomic<int> loads{0};
  bool is_apart = true;
  bool is_lost = false;
  std::vector<Fault> died;

 private:
  std::function<void(Scripted&)> on_load_;
};

void end_process(Scripted& device) { device.died.push_back({FaultKind::died, "load: signal 11"}); }

struct PipelineBench {
  explicit PipelineBench(std::vector<Scripted*> devices, bool holds = false)
      : compiler(holds),
        pipeline({.task = toy(),
                  .first = *devices.front(),
                  .queue = queue,
                  .pool = pool,
                  .truth = truth,
                  .store = kept.store,
                  .roster = roster,
                  .may_begin = [this](std::uint64_t number) { return number <= budget; }},
                 run, /*warm=*/false, TrialSeeds::of(1)) {
    for (Scripted* device : devices) pipeline.add_device(*device);
  }
  // Who waits for a compiler is to end.
  ~PipelineBench() { compiler.let_go(); }
  PipelineBench(const PipelineBench&) = delete;
  PipelineBench& operator=(const PipelineBench&) = delete;

  // Takes steps until that many trials have ended, or `done`.
  void work_until(const std::function<bool()>& done) {
    const Stopwatch watch;
    while (!done() && watch.milliseconds() < 60'000) {
      while (pipeline.advance()) {
      }
      pipeline.submit_begun();
      while (auto trial = pipeline.take_ended()) ended.push_back(std::move(*trial));
      if (!done()) queue.run_pending(std::chrono::milliseconds(20));
    }
    CHECK(done());
  }
  void work_until_ended(std::size_t count) {
    work_until([&] { return ended.size() >= count; });
  }
  // The row of the trial of that number, from 1.
  const TrialRow& row(std::size_t number) const { return ended.at(number - 1).trial.value().row; }

  ScratchStore kept;
  std::int64_t run = kept.store.begin_run(toy_run());
  TaskQueue queue;
  HoldingBAndC compiler;
  kernel::CompilePool pool{compiler, 4, [this] { queue.wake(); }};
  gate::TruthCache truth{*toy().problem};
  DeviceRoster roster;
  std::uint64_t budget = 100;
  std::vector<EndedTrial> ended;
  TrialPipeline pipeline;
};

}  // namespace

TEST_CASE("pipeline: trials come out in the order of their numbers, each with what became of it") {
  Scripted device;
  PipelineBench bench({&device});
  bench.pipeline.add(proposed(1));
  // A twin that is compiled before it goes to the device as well.
  bench.work_until_ended(1);
  bench.pipeline.add(proposed(2, "a", /*compiles=*/false));
  bench.pipeline.add(proposed(1));
  bench.pipeline.add(proposed(1, "b"));
  bench.pipeline.add(proposed(3));
  bench.work_until_ended(5);
  CHECK(bench.pipeline.empty());
  for (std::size_t i = 0; i < 5; ++i) CHECK(bench.ended[i].number == i + 1);
  CHECK(bench.row(1).outcome == Outcome::passed);
  CHECK(bench.row(1).device == "emulator:l4");
  CHECK(bench.row(2).stage == "compile");
  CHECK(bench.row(3).stage == "duplicate_source");
  CHECK(bench.ended[2].trial->twin == 1);
  CHECK(bench.row(4).stage == "duplicate_code");
  CHECK(bench.ended[3].trial->twin == 1);
  CHECK(bench.row(5).outcome == Outcome::passed);
  CHECK(bench.row(5).operation == "random");
  // One attempt of each that came to the device.
  CHECK(bench.kept.store.open_attempts(bench.run).size() == 2);
}

TEST_CASE("pipeline: what is ready goes to a device ahead of its turn, and comes out in it") {
  Scripted device;
  PipelineBench bench({&device}, /*holds=*/true);
  bench.pipeline.add(proposed(1, "b"));
  bench.pipeline.add(proposed(2));
  bench.pipeline.add(proposed(3));
  bench.work_until([&] { return device.loads >= 2 && bench.pipeline.on_devices() == 0; });
  CHECK(bench.ended.empty());
  CHECK(bench.pipeline.waits_for_compiler());
  bench.compiler.let_go();
  bench.work_until_ended(3);
  for (std::size_t number = 1; number <= 3; ++number)
    CHECK(bench.row(number).outcome == Outcome::passed);
  CHECK(device.loads == 3);
}

TEST_CASE("pipeline: of two that are waited for, the second may be ready first, and goes on") {
  Scripted device;
  PipelineBench bench({&device}, /*holds=*/true);
  bench.pipeline.add(proposed(1, "b"));
  bench.pipeline.add(proposed(2, "c"));
  bench.pipeline.add(proposed(3));
  bench.work_until([&] { return device.loads == 1 && bench.pipeline.on_devices() == 0; });
  bench.compiler.let_go(/*except=*/{"b"});
  bench.work_until([&] { return device.loads == 2; });
  CHECK(bench.ended.empty());
  bench.compiler.let_go();
  bench.work_until_ended(3);
}

TEST_CASE("pipeline: a twin that was gated ahead of its turn is a duplicate, and no more is said") {
  Scripted device;
  PipelineBench bench({&device}, /*holds=*/true);
  bench.pipeline.add(proposed(1, "b"));
  bench.pipeline.add(proposed(1, "a"));
  bench.work_until([&] { return device.loads == 1 && bench.pipeline.on_devices() == 0; });
  CHECK(bench.ended.empty());
  bench.compiler.let_go();
  bench.work_until_ended(2);
  CHECK(bench.row(1).outcome == Outcome::passed);
  CHECK(bench.row(2).stage == "duplicate_code");
  CHECK(bench.ended[1].trial->twin == 1);
  CHECK(bench.row(2).device.empty());
  CHECK_FALSE(bench.row(2).screen_time);
  CHECK(bench.row(2).gate_ms == 0);
}

TEST_CASE("pipeline: a trial goes from a device that is lost to another") {
  Scripted lost([](Scripted& device) {
    end_process(device);
    device.is_lost = true;
  });
  Scripted other;
  PipelineBench bench({&lost, &other});
  bench.pipeline.add(proposed(1));
  bench.pipeline.add(proposed(2));
  bench.work_until_ended(2);
  for (std::size_t number = 1; number <= 2; ++number) {
    CHECK(bench.row(number).outcome == Outcome::passed);
    CHECK(bench.row(number).device == "emulator:l4#2");
    CHECK(bench.ended[number - 1].trouble.empty());
  }
  if (lost.loads > 0) CHECK(bench.pipeline.usable() == std::vector<Device*>{&other});
}

TEST_CASE("pipeline: who ends the process of two devices is charged, and eight are the run's end") {
  Scripted one(end_process), other(end_process);
  PipelineBench bench({&one, &other});
  for (int i = 0; i < 8; ++i) {
    const int work[] = {0, 1, 2, 3, 5, 8, 13, 21};
    bench.pipeline.add(proposed(work[i]));
  }
  bench.work_until_ended(8);
  for (std::size_t number = 1; number <= 8; ++number) {
    CHECK(bench.row(number).finding == "crash");
    CHECK(bench.row(number).stage == "launch");
    CHECK(bench.ended[number - 1].trouble.empty() == (number < 8));
  }
  CHECK(one.loads + other.loads == 16);
  // The first two attempts are on disk.
  CHECK(bench.kept.store.record_attempt(bench.run, 1, "{}") == 3);
}

TEST_CASE("pipeline: nothing is begun that may not be, and what is over is not begun again") {
  Scripted device;
  PipelineBench bench({&device});
  bench.budget = 1;
  bench.pipeline.add(proposed(1));
  bench.pipeline.add(proposed(2));
  bench.work_until_ended(1);
  bench.budget = 0;
  CHECK_FALSE(bench.pipeline.advance());
  CHECK_FALSE(bench.pipeline.waits_for_compiler());
  CHECK_FALSE(bench.pipeline.take_ended());
  CHECK(device.loads == 1);
}

TEST_CASE("pipeline: what an earlier session recorded comes out as it went in, and has twins") {
  Scripted device;
  TrialRow earlier;
  {
    PipelineBench bench({&device});
    bench.pipeline.add(proposed(1));
    bench.work_until_ended(1);
    earlier = bench.row(1);
  }
  PipelineBench bench({&device});
  bench.pipeline.add_recorded(proposed(1), earlier);
  bench.pipeline.add(proposed(1, "b"));
  bench.work_until_ended(2);
  CHECK_FALSE(bench.ended[0].trial);
  CHECK(bench.ended[1].trial->twin == 1);
  CHECK(device.loads == 1);
}

TEST_CASE("pipeline: a trial that is interrupted on its device does not come out") {
  Scripted device([](Scripted&) { throw Interrupted("stop"); });
  PipelineBench bench({&device});
  bench.pipeline.add(proposed(1));
  bench.work_until([&] { return device.loads == 1; });
  bench.budget = 0;  // as a search that is stopped has it
  bench.work_until([&] { return bench.pipeline.on_devices() == 0; });
  CHECK_FALSE(bench.pipeline.take_ended());
  CHECK_FALSE(bench.pipeline.empty());
}

TEST_CASE("pipeline: a kernel of this process that was under way at two ends is charged unseen") {
  Scripted device;
  device.is_apart = false;
  PipelineBench bench({&device});
  const search::Proposal deadly = proposed(1);
  for (int i = 0; i < 2; ++i)
    bench.kept.store.record_attempt(bench.run, 1, deadly.config.to_json());
  bench.pipeline.add(deadly);
  bench.pipeline.add(proposed(2));
  bench.work_until_ended(2);
  CHECK(bench.row(1).finding == "crash");
  CHECK(bench.row(1).message == "it was under way 2 times when a process died");
  CHECK(bench.row(2).outcome == Outcome::passed);
  CHECK(device.loads == 1);
}

}  // namespace fa_tune::test
