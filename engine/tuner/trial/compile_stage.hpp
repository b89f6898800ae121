#pragma once

#include <memory>
#include <vector>

#include "db/store.hpp"
#include "engine/device/device.hpp"
#include "engine/gate/gate.hpp"
#include "engine/kernel/compile/compiler.hpp"
#include "engine/tuner/task/tuning_task.hpp"
#include "engine/tuner/task/variant.hpp"
#include "engine/tuner/trial/duplicate_check.hpp"
#include "engine/tuner/trial/trial.hpp"
#include "engine/util/helper_threads.hpp"

namespace fa_tune::tuner {

// Takes trials through the stages before the first launch, cheapest first: duplicate source,
// compile, resources, duplicate code. A stage that a trial fails ends it, and its row says why.
// Trials pass in the order of their numbers. Each is remembered as soon as it has passed, so that a
// later one with the same code is found to be its duplicate while the first still runs.
class CompileStage {
 public:
  // All must outlive it. Of the device it uses info() alone; the variants of prepare() use the
  // rest. `cases`: what the variants will be gated on.
  CompileStage(const TuningTask& task, device::Device& device, kernel::CompilePool& pool,
               const std::vector<gate::GateCase>& cases = {});

  // Renders the variants and begins to compile them, for the shapes of their cases too. Where a
  // problem's sizes are compiled in, each shape needs another binary, and a device must not wait
  // for it.
  std::vector<std::unique_ptr<Variant>> prepare(const std::vector<const Config*>& configs,
                                                HelperThreads& helpers);
  std::unique_ptr<Variant> prepare(const Config& config);
  // True if the trial passes. Waits for the compiler (Variant::ready). For a duplicate, `twin` is
  // set to the number of the trial that it equals.
  bool pass(Variant& variant, FinishedTrial& trial);
  // The same ahead of its turn, while earlier trials are still being compiled: true if it will pass
  // unless one of them turns out to be its twin. Nothing is remembered.
  bool passes_so_far(Variant& variant, FinishedTrial& trial);
  // In its turn: whether it passes. For what passes_so_far() said true of, and without its variant,
  // which may be on a device by now.
  bool pass_in_turn(FinishedTrial& trial);
  // Makes a trial known that was recorded earlier.
  void remember(const db::TrialRow& row) { duplicates_.remember(row); }

 private:
  bool differs_in_source(const Config& config, FinishedTrial& trial);
  bool differs_in_code(FinishedTrial& trial) const;

  const TuningTask& task_;
  device::Device& device_;
  kernel::CompilePool& pool_;
  DuplicateCheck duplicates_;
};

}  // namespace fa_tune::tuner
