#pragma once

#include <optional>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "engine/device/device.hpp"
#include "engine/search/external/proposer_arm.hpp"
#include "engine/tuner/task/tuning_task.hpp"

// Joins an outside proposer with a run: keeps its transcript in the store, and tells it of the
// run's rows.
namespace fa_tune::tuner {

class StoredProposerLog : public search::ProposerLog {
 public:
  // The store must outlive the transcript.
  StoredProposerLog(db::Store& store, std::int64_t run) : store_(store), run_(run) {}

  void add(Direction direction, const std::string& text) override;
  void keep() override;
  // The decisions of the run so far, in the form that ProposerArm takes.
  std::vector<std::string> decisions() const;

 private:
  db::Store& store_;
  std::int64_t run_;
  std::vector<db::ProposerMessageRow> unkept_;
};

search::ProposerBriefing brief_proposer(const TuningTask& task, const device::DeviceInfo& device,
                                        std::uint64_t seed, std::optional<int> trials,
                                        std::optional<double> seconds);

// `time_us` is the time that the search is told. A duplicate has it from its original.
search::TrialReport report_trial(const db::TrialRow& row, const Config& config,
                                 std::optional<double> time_us);

// {"trials":84}, or {"seconds":12.5}, or both.
std::string budget_json(std::optional<int> trials, std::optional<double> seconds);

}  // namespace fa_tune::tuner
