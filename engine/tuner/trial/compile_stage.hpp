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

namespace fa_tune {

// The stages of a run's trials up to, not including, the first launch, cheapest first: duplicate
// source, compile, resources, duplicate code. Each ends the trial where it refuses, and the row
// says why. Trials pass in the order of their numbers: one is remembered as soon as it has passed,
// so that a later one with the same code is found out as its duplicate while it still runs.
class CompileStage {
 public:
  // All must outlive it; of the device only what info() says is used, and by prepare()'s variants.
  // `cases`: what the variants will be gated on.
  CompileStage(const TuningTask& task, Device& device, CompilePool& pool,
               const std::vector<GateCase>& cases = {});

  // Renders the variant and begins to compile it, for the shapes of its cases too: where a
  // problem's sizes are compiled in, each is another binary, which a device must not wait for.
  std::unique_ptr<Variant> prepare(const Config& config);
  // True if the trial passes. Waits for the compiler (Variant::ready). Of a duplicate, the number
  // of the trial it equals is in `twin`.
  bool pass(Variant& variant, FinishedTrial& trial);
  // Makes a trial known that was recorded earlier.
  void remember(const TrialRow& row) { duplicates_.remember(row); }

 private:
  bool pass_stages(Variant& variant, FinishedTrial& trial);

  const TuningTask& task_;
  Device& device_;
  CompilePool& pool_;
  DuplicateCheck duplicates_;
};

}  // namespace fa_tune
