// A search is stopped while the reference runs: it ends before the next of its runs, keeps what it
// has, and goes on as if nothing had happened.

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "engine/device/local/emulated.hpp"
#include "engine/device/local/open.hpp"
#include "engine/gate/reference_run.hpp"
#include "engine/kernel/compile/nvrtc_compiler.hpp"
#include "engine/tuner/evolve.hpp"
#include "engine/util/error.hpp"
#include "tests/engine/problem/custom/custom_space.hpp"
#include "tests/engine/tuner/listeners.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;
using namespace fa_tune::problem;
using namespace fa_tune::tuner;

namespace {

constexpr int kTrials = 3;

// Asks for the end in one of its runs, as somebody does who presses Ctrl-C.
class Stopping final : public ReferenceRunner {
 public:
  Stopping(const TuningTask& task, kernel::Compiler& compiler, int stops_at)
      : stops_at_(stops_at),
        inner_(
            gate::make_reference_runner([&task] { return device::open_emulator(task.target, 1); },
                                        [&compiler](const kernel::CompileRequest& request) {
                                          return compiler.compile(request);
                                        },
                                        &stop)) {}

  void run(const ReferenceCall& call, const Instance& instance, const TakeResult& take) override {
    if (++runs == stops_at_) stop = true;
    inner_->run(call, instance, take);
  }

  std::atomic<bool> stop = false;
  int runs = 0;

 private:
  int stops_at_;
  std::shared_ptr<ReferenceRunner> inner_;
};

struct Searched {
  EvolveResult result;
  int runs = 0;  // of the reference
};

// `stops_at`: the run of the reference in which somebody asks for the end; 0: none.
Searched search(const TuningTask& task, Store& store, int stops_at,
                std::optional<std::int64_t> resume = {}) {
  const auto device = device::open_device("emulator:l4", task.target, root());
  const auto runner = std::make_shared<Stopping>(task, cached_nvrtc(), stops_at);
  task.problem->use_reference(runner);
  EvolveOptions options;
  options.trials = kTrials;
  options.resume = resume;
  QuietListener quiet;
  const auto result = evolve(task, *device, cached_nvrtc(), store, options, quiet, runner->stop);
  return {result, runner->runs};
}

std::vector<std::string> trials_of(const Store& store, std::int64_t run) {
  std::vector<std::string> lines;
  for (const TrialRow& trial : store.trials(run))
    lines.push_back(trial.config_json + " " + to_text(trial.outcome) + " " + trial.finding);
  return lines;
}

}  // namespace

TEST_CASE("a search that is stopped while the reference runs ends there and can go on") {
  const CustomSpace space;
  const TuningTask task = space.task({{"{n: 5000}, {n: 1}, {n: 777}", "{n: 500}"}});
  const ScratchFolder folder;
  Store whole(folder / "whole.db", Store::Mode::write);
  const Searched undisturbed = search(task, whole, 0);
  REQUIRE_FALSE(undisturbed.result.interrupted);
  const auto expected = trials_of(whole, undisturbed.result.run);
  REQUIRE(expected.size() == kTrials);

  // In the plain kernel's time, in a trial's gate, in the finals.
  for (const int at : {2, 20, undisturbed.runs - 1}) {
    CAPTURE(at);
    Store store(folder / ("stopped_" + std::to_string(at) + ".db"), Store::Mode::write);
    const Searched stopped = search(task, store, at);
    CHECK(stopped.result.interrupted);
    CHECK(stopped.runs == at);
    CHECK(store.run(stopped.result.run)->state == "interrupted");
    const Searched resumed = search(task, store, 0, stopped.result.run);
    CHECK_FALSE(resumed.result.interrupted);
    CHECK(trials_of(store, stopped.result.run) == expected);
  }
}

}  // namespace fa_tune::test
