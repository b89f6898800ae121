#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "engine/device/device.hpp"
#include "engine/kernel/compile/compiler.hpp"
#include "engine/report/ablation.hpp"
#include "engine/tuner/task/tuning_task.hpp"

namespace fa_tune::tuner {

struct AblationOptions {
  // A preset of the trial's template; if empty the space's first one, or where there is none
  // `first`.
  std::string baseline;
  std::optional<db::TrialRow> first = {};  // see first_passed()
  bool all_genes = false;  // also every other value of the genes that the two have alike
  std::uint64_t seed = 1;  // of inputs and races
};

// The run's first trial that passed, of the template of `trial`, if it is not that one itself.
std::optional<db::TrialRow> first_passed(const std::vector<db::TrialRow>& trials,
                                         const db::TrialRow& trial);

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
