#include "engine/tuner/loop/status_log.hpp"

#include <algorithm>
#include <chrono>

#include <nlohmann/json.hpp>

#include "engine/report/json.hpp"
#include "engine/util/instant.hpp"

namespace fa_tune::tuner {
namespace {

constexpr double kMostAtOnce = 5;

}  // namespace

StatusLog::StatusLog(db::Store& store, const DeviceRoster& roster, const EvolveOptions& options,
                     EvolveListener& inner)
    : store_(store), roster_(roster), options_(options), inner_(inner), allowed_(kMostAtOnce) {}

void StatusLog::begin(std::int64_t run) {
  run_ = run;
  began_ = instant_text(std::chrono::system_clock::now());
  write();
}

void StatusLog::enter(const std::string& phase) {
  phase_ = phase;
  waits_for_.clear();
  step_.clear();
  if (run_ != 0) write();
}

void StatusLog::on_wait(const std::string& what) {
  waits_for_ = what;
  inner_.on_wait(what);
  look();
}

void StatusLog::on_trial(const db::TrialRow& trial, const RunCounts& counts) {
  waits_for_.clear();
  inner_.on_trial(trial, counts);
  look();
}

void StatusLog::on_final_step(const std::string& step, int done, int of) {
  waits_for_.clear();
  step_ = step;
  step_done_ = done;
  step_of_ = of;
  inner_.on_final_step(step, done, of);
  if (done == 0)
    write();
  else
    look();
}

void StatusLog::on_final(const db::TrialRow& trial, int done, int of) {
  inner_.on_final(trial, done, of);
  look();
}

void StatusLog::look() {
  if (const std::uint64_t changes = roster_.changes(); changes != told_changes_) {
    told_changes_ = changes;
    inner_.on_devices(roster_.standings());
  }
  if (run_ == 0) return;
  allowed_ = std::min(kMostAtOnce, allowed_ + since_look_.milliseconds() / 1000);
  since_look_ = {};
  if (allowed_ >= 1) write();
}

void StatusLog::write() {
  std::string now = json();
  if (now == written_) return;
  allowed_ = std::max(0.0, allowed_ - 1);
  store_.record_status(run_, {instant_text(std::chrono::system_clock::now()), now});
  written_ = std::move(now);
}

std::string StatusLog::json() const {
  nlohmann::ordered_json devices = nlohmann::ordered_json::array();
  for (const DeviceStanding& each : roster_.standings())
    devices.push_back({{"device", each.device},
                       {"state", state_text(each.state)},
                       {"does", report::word_json(each.does)},
                       {"since", instant_text(each.since)},
                       {"why", report::word_json(each.why)}});
  nlohmann::ordered_json step;
  if (!step_.empty()) step = {{"name", step_}, {"done", step_done_}, {"of", step_of_}};
  const nlohmann::ordered_json status = {
      {"phase", phase_},
      {"began", began_},
      {"budget", {{"trials", options_.trials}, {"seconds", options_.seconds}}},
      {"waits_for", report::word_json(waits_for_)},
      {"step", std::move(step)},
      {"devices", std::move(devices)}};
  return status.dump();
}

}  // namespace fa_tune::tuner
