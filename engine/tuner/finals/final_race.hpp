#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "engine/kernel/compile/compiler.hpp"
#include "engine/measure/process_series.hpp"
#include "engine/measure/sampler.hpp"
#include "engine/model/rejection.hpp"
#include "engine/tuner/task/tuning_task.hpp"

namespace fa_tune {

struct FinalRace {
  bool lost = false;                        // the device is; the rest says nothing then
  std::vector<RejectedContestant> refused;  // although they had been judged right
  // Who ran to the end, as `race` numbers them; none if fewer than two could, or no block was good.
  std::vector<std::size_t> ran;
  SeriesRace race;
  int processes = 0;  // that it was run in
};

struct RaceSettings {
  double confidence = ProcessSeries::kConfidence;
  int processes = ProcessSeries::kProcesses;
  std::function<void(int done)> process_over = [](int) {};
};

// Races finalists on a device that measures, in processes one after the other (ProcessSeries): in
// each all kernels loaded anew, with one set of inputs (of another seed than trials and judges had,
// at another place in memory each time), in interleaved blocks beside `baseline`, which is one of
// them. Who ends the process it runs in, twice, or
// faults is refused and the others go on. Stopped, it says nothing of anyone, as if the device were
// lost.
FinalRace race_finalists(const TuningTask& task, Device& device, CompilePool& pool,
                         const std::vector<Config>& finalists, std::size_t baseline,
                         std::uint64_t seed, const std::atomic<bool>& stop,
                         const RaceSettings& settings = {});

}  // namespace fa_tune
