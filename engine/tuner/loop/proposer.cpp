#include "engine/tuner/loop/proposer.hpp"

#include <ctime>

#include <fmt/chrono.h>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace fa_tune::tuner {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kTaken = "taken";

const char* direction_text(search::ProposerLog::Direction direction) {
  switch (direction) {
    case search::ProposerLog::Direction::sent:
      return "sent";
    case search::ProposerLog::Direction::received:
      return "received";
    case search::ProposerLog::Direction::note:
      return "note";
    case search::ProposerLog::Direction::taken:
      break;
  }
  return kTaken;
}

}  // namespace

void StoredProposerLog::add(Direction direction, const std::string& text) {
  unkept_.push_back({direction_text(direction),
                     fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))), text});
}

void StoredProposerLog::keep() {
  store_.record_proposer_messages(run_, unkept_);
  unkept_.clear();
}

std::vector<std::string> StoredProposerLog::decisions() const {
  std::vector<std::string> decisions;
  for (db::ProposerMessageRow& message : store_.proposer_messages(run_))
    if (message.direction == kTaken) decisions.push_back(std::move(message.text));
  return decisions;
}

std::string budget_json(std::optional<int> trials, std::optional<double> seconds) {
  Json json = Json::object();
  if (trials) json["trials"] = *trials;
  if (seconds) json["seconds"] = *seconds;
  return json.dump();
}

search::ProposerBriefing brief_proposer(const TuningTask& task, const device::DeviceInfo& device,
                                        std::uint64_t seed, std::optional<int> trials,
                                        std::optional<double> seconds) {
  search::ProposerBriefing briefing;
  briefing.device_json = Json{
      {"id", device.id},
      {"name", device.name},
      {"arch", device.arch},
      {"target",
       task.target.name}}.dump();
  briefing.objective_json = Json{{"minimize", "time"},
                                 {"unit", "us"},
                                 {"kind", to_text(device.times)},
                                 {"problem", task.problem->kind()},
                                 {"shape", Json::parse(fa_tune::to_json(task.problem->shape()))}}
                                .dump();
  briefing.budget_json = budget_json(trials, seconds);
  briefing.seed = seed;
  return briefing;
}

search::TrialReport report_trial(const db::TrialRow& row, const Config& config,
                                 std::optional<double> time_us) {
  search::TrialReport report;
  report.number = static_cast<std::uint64_t>(row.number);
  report.config = config;
  report.status = row.outcome;
  report.stage = row.stage;
  report.finding = row.finding;
  report.message = row.message;
  report.time_us = time_us;
  // The interval at the clock that the time is told at.
  if (row.screen_time && time_us) {
    const Interval us = row.screen_time->us * (*time_us / row.screen_time->us.value);
    report.low_us = known_end(us.low);
    report.high_us = known_end(us.high);
  }
  const auto add = [&report](const char* name, int count) {
    if (count >= 0) report.metrics.emplace_back(name, count);
  };
  add("registers", row.registers);
  add("spill_bytes", row.spill_bytes);
  add("static_shared_bytes", row.static_shared_bytes);
  add("dynamic_shared_bytes", row.dynamic_shared_bytes);
  report.metrics.emplace_back("compile_ms", row.compile_ms);
  if (row.gate_cases > 0) report.metrics.emplace_back("worst_error_over_bound", row.worst_ratio);
  return report;
}

}  // namespace fa_tune::tuner
