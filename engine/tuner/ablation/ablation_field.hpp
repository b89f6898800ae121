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

namespace fa_tune {

// The kernels of an ablation, each made and judged once, however many rows ask for it, by the same
// stages as trials.
class AblationField {
 public:
  using Say = std::function<void(const std::string&)>;

  // All must outlive it.
  AblationField(const TuningTask& task, Device& device, CompilePool& pool, std::uint64_t seed,
                Say say);

  // Takes configs through the stages, those it does not know yet. They compile side by side.
  void judge(const std::vector<Config>& configs);
  // Of one that was judged, or of the one that it is a duplicate of.
  const TrialRow& row(const Config& config) const;
  // Which kernel a config is: equal for configs whose machine code and launch are.
  std::size_t kernel(const Config& config) const;

  // The rows whose `config` is right get their ratios to `beside`, which is right: by races on a
  // device that measures. All intervals of one call hold together at 95%. A row that fails in its
  // race becomes a refused one.
  void compare(const Config& beside, const std::vector<AblationRow*>& rows, std::uint64_t seed);
  // The figure of `beside` in the last race, if there was one.
  std::optional<double> raced_us() const { return raced_us_; }

 private:
  void race(const Config& beside, const std::vector<AblationRow*>& rows, std::uint64_t seed,
            double confidence);

  const TuningTask& task_;
  Device& device_;
  CompilePool& pool_;
  Say say_;
  TruthCache truth_;
  CompileStage compile_stage_;
  GateAndScreen gate_and_screen_;
  std::vector<FinishedTrial> trials_;         // by number, from 1
  std::map<std::string, std::size_t> known_;  // places there by config
  std::optional<double> raced_us_;
};

}  // namespace fa_tune
