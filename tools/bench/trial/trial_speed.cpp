// What a trial costs its device: the gate and clock of one correct kernel, in this process and in
// one of its own.
//
//   bench_trial_speed DEVICE FA_TUNE [SPACE [NAME=VALUE...]]
//
// FA_TUNE: the program that is started as worker. The space's last preset is tried, l4.yaml's if
// not given; NAME=VALUE as `evolve --set` takes it: shape.L=16384. JSON to standard output.

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "engine/device/local/emulated.hpp"
#include "engine/device/local/open.hpp"
#include "engine/gate/reference_run.hpp"
#include "engine/kernel/compile/nvrtc_compiler.hpp"
#include "engine/space_file/space_settings.hpp"
#include "engine/tuner/task/tuning_task.hpp"
#include "engine/tuner/trial/compile_stage.hpp"
#include "engine/tuner/trial/gate_and_screen.hpp"
#include "engine/tuner/trial/trial.hpp"
#include "engine/util/environment.hpp"
#include "engine/worker/remote_device.hpp"

namespace {

using namespace fa_tune;

constexpr int kTrials = 20;

double median(std::vector<double> times) {
  std::ranges::sort(times);
  return times[times.size() / 2];
}

nlohmann::ordered_json measured_costs(const tuner::TuningTask& task, device::Device& device) {
  const auto compiler = kernel::open_nvrtc();
  kernel::CompilePool pool(*compiler, 1);
  gate::TruthCache truth(*task.problem);
  tuner::GateAndScreen gate_and_screen(task, device, truth, {1, 2});
  std::vector<double> gate_ms, measure_ms;
  // The first finds no truth yet and is not counted among the others.
  double first_ms = 0;
  for (int i = 0; i <= kTrials; ++i) {
    tuner::CompileStage compile_stage(task, device,
                                      pool);  // a new one, or the second trial were a duplicate
    const auto variant = compile_stage.prepare(task.space.parts().presets.back().config);
    tuner::FinishedTrial trial;
    if (compile_stage.pass(*variant, trial)) gate_and_screen.run(*variant, trial);
    if (trial.row.outcome != Outcome::passed) return {{"failed", trial.row.message}};
    if (i == 0) first_ms = trial.row.gate_ms;
    if (i == 0) continue;
    gate_ms.push_back(trial.row.gate_ms);
    measure_ms.push_back(trial.row.measure_ms);
  }
  return {{"gate_ms", median(gate_ms)},
          {"measure_ms", median(measure_ms)},
          {"first_gate_ms", first_ms}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "bench_trial_speed DEVICE FA_TUNE [SPACE [NAME=VALUE...]]\n");
    return 2;
  }
  const std::string name = argv[1];
  const std::string root = find_root().string();
  const std::vector<std::string> settings(argv + std::min(argc, 4), argv + argc);
  const tuner::TuningTask task = tuner::open_task(
      space::with_settings(space::load_space_file(argc > 3 ? argv[3] : "l4.yaml", root), settings),
      root);
  const auto reference_compiler = kernel::open_nvrtc();
  if (task.problem->wants_reference())
    task.problem->use_reference(
        gate::make_reference_runner([&task] { return device::open_emulator(task.target); },
                                    [&](const kernel::CompileRequest& request) {
                                      return reference_compiler->compile(request);
                                    }));
  nlohmann::ordered_json result = {{"device", name},
                                   {"trials", kTrials},
                                   {"shape", task.problem->describe(task.problem->shape())}};
  {
    const auto here = device::open_device(name, task.target, root);
    result["name"] = here->info().name;
    result["in_process"] = measured_costs(task, *here);
  }
  worker::RemoteOptions options;
  options.words = {argv[2], "worker", "--device", name, "--root", root};
  if (!name.starts_with("cuda")) options.deadlines = worker::Deadlines::of_emulator();
  const auto there = worker::open_remote(options);
  result["in_worker"] = measured_costs(task, *there);
  fmt::print("{}\n", result.dump(2));
  return 0;
}
