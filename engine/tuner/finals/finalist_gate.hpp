#pragma once

#include <atomic>
#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "engine/kernel/compile/compiler.hpp"
#include "engine/tuner/task/tuning_task.hpp"
#include "engine/tuner/task/variant.hpp"
#include "engine/tuner/trial/validated_timing.hpp"

namespace fa_tune::tuner {

// What came of one finalist that was gated and timed alone.
struct FinalVerdict {
  bool lost = false;  // the device was lost, which says nothing of the finalist
  std::expected<measure::Measurement, Rejection> measured = {};
  std::optional<measure::Measurement> cold = {};  // with a cold cache, on a device that measures
  // There, of what is launched programmatically: without that, each launch after the one before.
  std::optional<measure::Measurement> one_by_one = {};
};

// Gates finalists one by one, on all of the problem's suites and hidden cases, with inputs that no
// trial has seen, and times each with its proof (ValidatedTimer).
class FinalistGate {
 public:
  // All must outlive it. `suites` are names; all suites if empty. `stop` is read before each case.
  FinalistGate(const TuningTask& task, device::Device& device, kernel::CompilePool& pool,
               std::uint64_t seed, const std::vector<std::string>& suites,
               const std::atomic<bool>& stop);

  // Begins to compile a finalist for all of its cases, and returns at once.
  void prepare(const db::TrialRow& trial);
  // Waits until all that is compiled.
  void finish_preparing() const;
  // Throws Interrupted once `stop` is set.
  FinalVerdict check(const db::TrialRow& trial);

 private:
  std::unique_ptr<Variant> begin(const db::TrialRow& trial);
  FinalVerdict try_out(const db::TrialRow& trial);

  const TuningTask& task_;
  device::Device& device_;
  kernel::CompilePool& pool_;
  const std::atomic<bool>& stop_;
  gate::TruthCache truth_;
  std::vector<gate::GateCase> cases_;
  std::vector<gate::GateCase> apart_;  // of them, those that are run again without the input cache
  gate::DeviceInputCache input_cache_;
  ValidatedTimer timer_;
  std::map<std::int64_t, std::unique_ptr<Variant>> prepared_;  // by trial, until it is checked
};

}  // namespace fa_tune::tuner
