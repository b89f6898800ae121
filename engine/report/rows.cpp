#include "engine/report/rows.hpp"

#include <fmt/core.h>

#include "engine/measure/timing.hpp"
#include "engine/report/text_format.hpp"
#include "engine/util/error.hpp"

namespace fa_tune {

std::optional<Interval> shown_time(const TrialRow& trial) {
  if (trial.final_time) return trial.final_time->us;
  return trial.screen_time ? std::optional(trial.screen_time->us) : std::nullopt;
}

std::optional<double> shown_us(const TrialRow& trial) {
  const auto us = shown_time(trial);
  return us ? std::optional(us->value) : std::nullopt;
}

std::string left_open(const TrialRow& trial) {
  return trial.outcome == Outcome::passed && trial.stage != "final" ? trial.message : "";
}

std::optional<double> screen_at_clock(const TrialRow& trial, double mhz) {
  if (!trial.screen_time) return std::nullopt;
  return us_at_clock(trial.screen_time->us.value, trial.detail_json, mhz);
}

TrialOfRun require_trial(const Store& store, std::int64_t trial) {
  const auto row = store.trial(trial);
  if (!row)
    throw UserError(fmt::format(
        "trial {}: the database has no such trial; 'fa-tune best' lists the good ones", trial));
  TrialOfRun both{*row, store.run(row->run).value()};
  const auto finals = raced_finals(store, row->run);
  if (const auto found = finals.find(trial); found != finals.end()) both.raced = found->second;
  return both;
}

Constants shape_of(const std::string& json) {
  const Config settings = Config::from_json(json);
  return {settings.settings().begin(), settings.settings().end()};
}

std::string context_text(const RunRow& run) {
  const std::string device = run.device_name.empty() || run.device_name == run.device
                                 ? run.device + " (" + run.arch + ")"
                                 : run.device_name + " (" + run.device + ", " + run.arch + ")";
  return fmt::format("{}: {} {} on {}, {} times", run.space, run.problem,
                     settings_text(run.shape_json), device, run.time_kind);
}

}  // namespace fa_tune
