#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "engine/device/device.hpp"
#include "engine/gate/gate.hpp"
#include "engine/kernel/compiler.hpp"
#include "engine/run/clocked.hpp"
#include "engine/run/project.hpp"
#include "engine/run/variant.hpp"
#include "engine/search/strategy.hpp"

namespace fa_tune {

// Bytes a thread may spill before a variant is refused unseen. Small spills can win with mma.sync;
// beyond this, in a sweep of 350 variants on an H100, none came within 2x of the best.
constexpr int kMostSpillBytes = 512;

// A trial after its last stage, with its samples: what one transaction writes.
struct FinishedTrial {
  TrialRow row;
  std::vector<double> samples_us;
  std::string source_text;
};

// The seed of everything that a run draws for its trials' gates and clock, apart from the search's
// own.
struct TrialSeeds {
  std::uint64_t gate = 0;
  std::uint64_t timing = 0;
};

// Takes single trials of one run through their stages in fixed order, cheapest first: compile,
// resources, duplicate, launch and gate, screen. Each stops the trial where it refuses, and the row
// says why.
class TrialRunner {
 public:
  // All must outlive the runner.
  TrialRunner(const Project& project, Device& device, CompilePool& pool, TruthCache& truth,
              TrialSeeds seeds);
  ~TrialRunner();

  // Renders the variant and begins to compile it.
  std::unique_ptr<Variant> prepare(const Config& config);
  // Runs the stages up to, not including, the first launch. True if the trial goes on.
  bool admit(Variant& variant, FinishedTrial& trial);
  // Gates and times it.
  void judge(Variant& variant, FinishedTrial& trial);

  // Makes a stored trial known, so that a later one with the same code is found out as its
  // duplicate.
  void remember(const TrialRow& row);

 private:
  const Project& project_;
  Device& device_;
  CompilePool& pool_;
  TruthCache& truth_;
  std::vector<GateCase> cases_;
  Clocked clocked_;
  std::map<std::string, std::int64_t> trial_of_source_;
  std::map<std::string, std::int64_t> trial_of_code_;
};

}  // namespace fa_tune
