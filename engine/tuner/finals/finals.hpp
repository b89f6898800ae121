#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "engine/device/device.hpp"
#include "engine/kernel/compile/compiler.hpp"
#include "engine/tuner/loop/evolve_options.hpp"
#include "engine/tuner/task/tuning_task.hpp"
#include "engine/tuner/trial/sanitizer_check.hpp"

namespace fa_tune::tuner {

// What finals came to.
struct FinalRound {
  bool over = false;               // false if the device was lost or `stop` was set
  std::vector<db::FinalRow> rows;  // by place; race is 1
};

struct FinalsListener {
  std::function<void(const db::TrialRow&)> failed;
  // Steps: "checked" (by the emulator) and "gated" `done` of `of` kernels, "raced" in `done` of
  // `of` processes. Each is told of when it begins, with 0 done.
  std::function<void(const std::string& step, int done, int of)> step;
};

// Takes finalists through the finals. On a device that measures, each is first run on the emulator
// (SanitizerCheck, with the emulator of `emulator`) while nothing is timed; how much of it was
// checked is kept in the details of its row. Then each is gated and timed alone in a new process
// (FinalistGate). Those that pass race each other and the baseline in several more processes. The
// baseline is the first preset, if it is among them and not many times slower. `listener` hears of
// each failure at once, with its finding and message. The figures are those of the race. Where
// there was none (predicted times, a single finalist, a clock that never kept still) they are those
// that each had alone, and then none are said to tie.
FinalRound hold_finals(const TuningTask& task, device::Device& device, kernel::CompilePool& pool,
                       const EmulatorOpener& emulator, const std::vector<db::TrialRow>& finalists,
                       std::uint64_t seed, const std::vector<std::string>& suites,
                       const std::atomic<bool>& stop, const FinalsListener& listener);

// Holds a run's finals: gates and races its finalists (choose_finalists) again, because the fastest
// screens are mostly the luckiest. The figures of finals are the ones to publish; a trial that
// fails here has failed after all. Finals are not repeated if a stored race is of the very same
// finalists. On a device that predicts, a second time would be the same number, so there only the
// winner is gated again, and if it fails the next one. Returns false if the device was lost or
// `stop` was set; throws Interrupted where that was noticed within a finalist's gate.
bool run_finals(const TuningTask& task, device::Device& device, kernel::CompilePool& pool,
                const EmulatorOpener& emulator, db::Store& store, std::int64_t run,
                std::uint64_t seed, const std::vector<std::string>& suites,
                EvolveListener& listener, const std::atomic<bool>& stop);

}  // namespace fa_tune::tuner
