#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "db/store.hpp"
#include "engine/device/device.hpp"
#include "engine/kernel/compile/compiler.hpp"
#include "engine/report/ablation.hpp"
#include "engine/tuner/task/tuning_task.hpp"

namespace fa_tune::tuner {

struct AblationOptions {
  std::string baseline;    // a preset of the trial's template; the space's first one if empty
  bool all_genes = false;  // also every other value of the genes that the two have alike
  std::uint64_t seed = 1;  // of inputs and races
};

// Finds out what each gene of a trial is worth. It takes variants between the trial and a baseline
// (AblationPlan) through the stages of trials (CompileStage, GateAndScreen), then races them as
// finalists are raced, a dozen at a time beside the trial (`forward` ones beside the baseline). The
// intervals of the races beside the trial hold together, all of them, in 95 of 100 ablations; so do
// those beside the baseline, and those of the pairs. Pairs are of the four genes with the largest
// ratios, up to six. Predicted times are compared without a race.
//
// `say` gets a line for each step. Throws UserError for a baseline that does not fit and for a
// trial that fails now; MachineError if the device is lost.
report::Ablation ablate(const TuningTask& task, const db::TrialRow& trial, device::Device& device,
                        kernel::CompilePool& pool, const AblationOptions& options,
                        const std::function<void(const std::string&)>& say);

}  // namespace fa_tune::tuner
