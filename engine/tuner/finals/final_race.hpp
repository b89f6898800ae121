#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "engine/kernel/compile/compiler.hpp"
#include "engine/measure/process_series.hpp"
#include "engine/measure/sampler.hpp"
#include "engine/model/rejection.hpp"
#include "engine/tuner/task/tuning_task.hpp"

namespace fa_tune::tuner {

struct FinalRace {
  bool lost = false;                       // the device was lost; the rest says nothing then
  std::vector<RejectedContestant> failed;  // in the race, after they had passed the gate
  // The finalists that ran to the end, in the order of `race`. None if fewer than two did, or if no
  // block was good.
  std::vector<std::size_t> ran;
  measure::SeriesRace race;
  int processes = 0;  // that the race ran in
};

struct RaceSettings {
  double confidence = measure::ProcessSeries::kConfidence;
  int processes = measure::ProcessSeries::kProcesses;
  std::function<void(int done)> process_over = [](int) {};
};

// Races finalists on a device that measures, in several processes one after the other
// (ProcessSeries). In each process all kernels are loaded anew and run in interleaved blocks beside
// `baseline`, which is one of them. They share one set of inputs, drawn from another seed than
// those of trials and finals, and it lies at another place in memory in each process. A finalist
// that faults, or ends its process twice, fails, and the others go on. If the race is stopped, it
// reports `lost`, and its result says nothing of any finalist.
FinalRace race_finalists(const TuningTask& task, device::Device& device, kernel::CompilePool& pool,
                         const std::vector<Config>& finalists, std::size_t baseline,
                         std::uint64_t seed, const std::atomic<bool>& stop,
                         const RaceSettings& settings = {});

}  // namespace fa_tune::tuner
