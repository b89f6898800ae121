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

namespace fa_tune {

// What finals came to.
struct FinalRound {
  bool over = false;           // neither was the device lost nor `stop` set
  std::vector<FinalRow> rows;  // by place; race is 1
};

struct FinalsListener {
  std::function<void(const TrialRow&)> refused;
  // "looked at" and "judged" `done` of `of` kernels, "raced" in `done` of `of` processes.
  std::function<void(const std::string& step, int done, int of)> step;
};

// Takes finalists through the finals. On a device that measures, first of all what an emulator sees
// in each (SanitizerCheck; opened by `emulator`) while nothing is timed, and how much of it was
// looked at is kept in the rows' details. Then each is judged by itself in a new process
// (FinalistGate), and those that stand race each other and the baseline, the first preset if it is
// one of them and not many times slower, in several more. Who is refused is told at once, with its
// finding and message. The figures are the race's; where there was none (predicted times, a single
// finalist, a clock that never kept still) those that each had by itself, and then nobody is said
// to tie.
FinalRound hold_finals(const TuningTask& task, Device& device, CompilePool& pool,
                       const EmulatorOpener& emulator, const std::vector<TrialRow>& finalists,
                       std::uint64_t seed, const std::vector<std::string>& suites,
                       const std::atomic<bool>& stop, const FinalsListener& listener);

// The fastest screens are mostly the luckiest. So a run's finalists (choose_finalists) are held to
// finals, whose figures are the ones to publish; what fails is refused after all. Judged and raced
// already, as a stored race of the very same ones tells, they are let be. On a device that predicts
// a second time would be the same number, so there only the winner is gated again, and if it fails
// the next one. Returns false if the device was lost or `stop` was set.
bool run_finals(const TuningTask& task, Device& device, CompilePool& pool,
                const EmulatorOpener& emulator, Store& store, std::int64_t run, std::uint64_t seed,
                const std::vector<std::string>& suites, EvolveListener& listener,
                const std::atomic<bool>& stop);

}  // namespace fa_tune
