#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/gate/gate.hpp"
#include "engine/report/ablation.hpp"
#include "engine/tuner/task/tuning_task.hpp"
#include "engine/tuner/trial/compile_stage.hpp"
#include "engine/tuner/trial/gate_and_screen.hpp"
#include "engine/tuner/trial/trial.hpp"

namespace fa_tune::tuner {

// The kernels of an ablation. Each is compiled, gated and timed once, by the same stages as trials,
// however many rows ask for it.
class AblationField {
 public:
  using Say = std::function<void(const std::string&)>;

  // All must outlive it.
  AblationField(const TuningTask& task, device::Device& device, kernel::CompilePool& pool,
                std::uint64_t seed, Say say);

  // Takes the configs that it does not know yet through the stages. They compile side by side.
  void check(const std::vector<Config>& configs);
  // The row of a config that was checked. For a duplicate, the row of the kernel that it equals.
  const db::TrialRow& row(const Config& config) const;
  // The number of a config's kernel. Configs with the same machine code and launch have the same
  // one.
  std::size_t kernel(const Config& config) const;

  // Gives rows their ratios to `beside`, if their `config` passed; `beside` has passed. On a device
  // that measures, races decide. All intervals of one call hold together at 95%. A row that fails
  // in its race becomes a failed one.
  void compare(const Config& beside, const std::vector<report::AblationRow*>& rows,
               std::uint64_t seed);
  // The figure of `beside` in the last race, if there was one.
  std::optional<double> raced_us() const { return raced_us_; }

 private:
  void race(const Config& beside, const std::vector<report::AblationRow*>& rows, std::uint64_t seed,
            double confidence);

  const TuningTask& task_;
  device::Device& device_;
  kernel::CompilePool& pool_;
  Say say_;
  gate::TruthCache truth_;
  CompileStage compile_stage_;
  GateAndScreen gate_and_screen_;
  std::vector<FinishedTrial> trials_;         // by number, from 1
  std::map<std::string, std::size_t> known_;  // places there by config
  std::optional<double> raced_us_;
};

}  // namespace fa_tune::tuner
