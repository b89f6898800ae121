#pragma once

#include <cstdint>
#include <expected>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "engine/device/device.hpp"
#include "engine/gate/gate.hpp"
#include "engine/kernel/compile/compiler.hpp"
#include "engine/search/strategy.hpp"
#include "engine/tuner/task/tuning_task.hpp"
#include "engine/tuner/task/variant.hpp"
#include "engine/tuner/trial/validated_timing.hpp"

namespace fa_tune {

// Bytes a thread may spill before a variant is refused unseen. Small spills can win with mma.sync;
// beyond this, in a sweep of 350 variants on an H100, none came within 2x of the best.
constexpr int kMostSpillBytes = 512;

// A trial after its last stage, with its samples: what one transaction writes.
struct FinishedTrial {
  TrialRow row;
  std::int64_t twin = 0;  // the number of the trial that this one is a duplicate of
  std::vector<double> samples_us;
  std::string source_text;
};

// Its outcome is "refused" then.
void refuse(TrialRow& row, const Rejection& rejection);

// The seed of everything that a run draws for its trials' gates and clock, apart from the search's
// own.
struct TrialSeeds {
  std::uint64_t gate = 0;
  std::uint64_t timing = 0;

  // `seed`: the run's.
  static TrialSeeds of(std::uint64_t seed);
};

// What the trials of a run are gated on. The rest of the timed shape is for the finals; where it is
// large an emulator sees it only there, and trials that are right say so until then.
inline constexpr const char* not_at_timed_size =
    "not gated at the timed size, which finals do: it is large for an emulator";
std::vector<GateCase> cases_of_trials(const TuningTask& task, const Device& device,
                                      TrialSeeds seeds);

// The stages of a run's trials up to, not including, the first launch, cheapest first: compile,
// resources, duplicate. Each stops the trial where it refuses, and the row says why. Trials are
// admitted in the order of their numbers: one is known as soon as it is admitted, so that a later
// one with the same code is found out as its duplicate while it still runs.
class CompileStage {
 public:
  // All must outlive it; of the device only what info() says is used, and by prepare()'s variants.
  // `cases`: what the variants will be gated on.
  CompileStage(const TuningTask& task, Device& device, CompilePool& pool,
            const std::vector<GateCase>& cases = {});

  // Renders the variant and begins to compile it, for the shapes of its cases too: where a
  // problem's sizes are compiled in, each is another binary, which a device must not wait for.
  std::unique_ptr<Variant> prepare(const Config& config);
  // True if the trial goes on. Waits for the compiler (Variant::ready). Of a duplicate, the number
  // of the trial it equals is in `twin`.
  bool gate_and_time(Variant& variant, FinishedTrial& trial);
  // Makes a trial known that was recorded earlier.
  void remember(const TrialRow& row);

 private:
  bool pass_stages(Variant& variant, FinishedTrial& trial);
  // Of each of shapes_, or why the config cannot be launched at one of them.
  std::expected<std::vector<PlannedLaunch>, std::string> plans(const Config& config) const;
  std::string identity_of_source(const Config& config, const std::string& source_hash,
                                 const std::vector<PlannedLaunch>& plans) const;
  std::string identity_of_code(Variant& variant, const std::vector<PlannedLaunch>& plans) const;

  const TuningTask& task_;
  Device& device_;
  CompilePool& pool_;
  std::vector<Constants> shapes_;  // the timed one first, then those that are gated, each once
  // Numbers of trials, by what makes them alike: known before anything is compiled, and after.
  std::map<std::string, std::int64_t> trial_of_source_;
  std::map<std::string, std::int64_t> trial_of_identity_;
};

// The stages on one device: gate and screen. One thread owns it, that of the device.
class TrialRunner {
 public:
  // All must outlive it; the truths may be shared with other judges.
  TrialRunner(const TuningTask& task, Device& device, TruthCache& truth, TrialSeeds seeds);

  // Says right or refused in the trial's row, which gate_and_time() let through.
  void judge(Variant& variant, FinishedTrial& trial);

 private:
  const TuningTask& task_;
  Device& device_;
  TruthCache& truth_;
  std::vector<GateCase> cases_;
  bool sees_timed_;  // whether one is of the timed shape
  DeviceInputCache input_cache_;
  ValidatedTimer timer_;
  double fastest_us_ = std::numeric_limits<double>::infinity();  // judged right so far
};

}  // namespace fa_tune
