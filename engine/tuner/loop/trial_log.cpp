#include "engine/tuner/loop/trial_log.hpp"

#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "engine/report/rows.hpp"
#include "engine/tuner/loop/run_options.hpp"

namespace fa_tune::tuner {
namespace {

// {"BLOCK_M":[64,32]}: what a child changed; null where a gene was or is absent.
std::string changed_genes(const Config& parent, const Config& child) {
  nlohmann::ordered_json genes = nlohmann::ordered_json::object();
  const auto json = [](const Value* value) {
    return value == nullptr ? nlohmann::ordered_json()
                            : nlohmann::ordered_json::parse(fa_tune::to_json(*value));
  };
  for (const auto& [name, value] : parent.settings()) {
    const Value* now = child.find(name);
    if (now == nullptr || *now != value) genes[name] = {json(&value), json(now)};
  }
  for (const auto& [name, value] : child.settings())
    if (parent.find(name) == nullptr) genes[name] = {json(nullptr), json(&value)};
  return genes.dump();
}

double cost_s(const db::TrialRow& row) {
  return (row.compile_ms + row.gate_ms + row.measure_ms) / 1000;
}

}  // namespace

TrialLog::TrialLog(const TuningTask& task, db::Store& store, std::int64_t run)
    : task_(task), store_(store), run_(run) {
  for (db::TrialRow& trial : store_.trials(run))
    stored_.emplace(static_cast<std::uint64_t>(trial.number), std::move(trial));
  const auto plain = store_.plain_kernel(run);
  if (plain && plain->time && task_.space.presets().empty())
    counts_.plain_us = plain->time->us.value;
}

const db::TrialRow* TrialLog::stored(std::uint64_t number) const {
  const auto found = stored_.find(number);
  return found == stored_.end() ? nullptr : &found->second;
}

double TrialLog::seconds_before() const {
  double seconds = 0;
  for (const auto& [number, row] : stored_) seconds += cost_s(row);
  if (!stored_.empty() && stored_.rbegin()->second.at_ms)
    seconds = *stored_.rbegin()->second.at_ms / 1000;
  return seconds;
}

db::TrialRow TrialLog::replay(std::uint64_t number, const search::Proposal& proposal) {
  db::TrialRow row = stored_.at(number);
  require_same(fmt::format("trial {}", row.number), row.config_json, proposal.config.to_json());
  count(row);
  return row;
}

db::TrialRow TrialLog::record(FinishedTrial trial, const search::Proposal& proposal) {
  std::vector<db::ParentRow> parents;
  for (std::size_t i = 0; i < proposal.parents.size(); ++i) {
    const db::TrialRow& parent = rows_.at(proposal.parents[i]);
    parents.push_back({0, parent.id, static_cast<int>(i),
                       changed_genes(Config::from_json(parent.config_json), proposal.config)});
  }
  if (trial.twin != 0) trial.row.duplicate_of = rows_.at(static_cast<std::uint64_t>(trial.twin)).id;
  std::vector<db::SampleRow> samples;
  if (!trial.samples_us.empty()) samples.push_back({0, "screen", trial.samples_us});
  trial.row.run = run_;
  trial.row.id = store_.record_trial(trial.row, parents, samples, trial.source_text);
  count(trial.row);
  return trial.row;
}

search::Evaluation TrialLog::told(const db::TrialRow& row, const Config& config) const {
  const bool is_twin = row.duplicate_of != 0;
  const auto time = is_twin ? times_.at(row.duplicate_of) : at_clock(row);
  return {static_cast<std::uint64_t>(row.number),     config, time.has_value(), time, cost_s(row),
          is_twin ? numbers_.at(row.duplicate_of) : 0};
}

// What screens are compared by.
std::optional<double> TrialLog::at_clock(const db::TrialRow& screened) const {
  return report::screen_at_clock(screened, task_.target.clock_mhz);
}

void TrialLog::count(const db::TrialRow& row) {
  rows_.emplace(static_cast<std::uint64_t>(row.number), row);
  times_[row.id] = at_clock(row);
  numbers_[row.id] = static_cast<std::uint64_t>(row.number);
  ++counts_.trials;
  counts_.passed += row.outcome == Outcome::passed;
  counts_.failed += row.outcome == Outcome::failed;
  counts_.duplicate += row.outcome == Outcome::duplicate;
  counts_.seconds = row.at_ms ? *row.at_ms / 1000 : counts_.seconds + cost_s(row);
  if (row.outcome != Outcome::passed) return;
  if (!counts_.best || at_clock(row) < at_clock(*counts_.best)) counts_.best = row;
  const auto& presets = task_.space.presets();
  if (!presets.empty() && presets.front().config.to_json() == row.config_json)
    counts_.baseline = row;
}

}  // namespace fa_tune::tuner
