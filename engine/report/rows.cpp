#include "engine/report/rows.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "engine/measure/timing.hpp"
#include "engine/report/text_format.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::report {
namespace {

using Json = nlohmann::ordered_json;

Json parsed(const std::string& text) { return Json::parse(text, nullptr, false); }

std::string bound_text(double end, const char* none) {
  return known_end(end) ? fmt::format("{:.4f}", end) : none;
}

}  // namespace

Frugality frugality(const db::TrialRow& trial) {
  return {.registers = trial.registers,
          .shared_bytes = trial.static_shared_bytes + trial.dynamic_shared_bytes,
          .genes = Config::from_json(trial.config_json).settings()};
}

std::map<std::int64_t, RacedFinal> raced_finals(const db::Store& store, std::int64_t run) {
  return raced_finals(store.finals(run));
}

std::map<std::int64_t, RacedFinal> raced_finals(const std::vector<db::FinalRow>& all) {
  std::map<int, std::vector<db::FinalRow>> races;
  for (const db::FinalRow& row : all) races[row.race].push_back(row);
  std::map<std::int64_t, RacedFinal> finals;
  for (const auto& [number, rows] : races) {
    for (const db::FinalRow& row : rows) {
      RacedFinal raced{row, static_cast<int>(rows.size()), {}};
      for (const db::FinalRow& other : rows)
        if (row.tied_first && other.tied_first && other.trial != row.trial)
          raced.tied_with.push_back(other.trial);
      finals.emplace(row.trial, std::move(raced));
    }
  }
  return finals;
}

std::string standing_text(const RacedFinal& raced) {
  const db::FinalRow& row = raced.row;
  const int others = raced.of - 1;
  const char* plural = others == 1 ? "" : "s";
  if (others == 0) return "nobody else was there";
  if (row.blocks == 0)
    return row.place == 1
               ? fmt::format("the least time; not raced with the {} other{}", others, plural)
               : fmt::format("{:.4f} times the least time; not raced", row.ratio.value);
  if (!raced.tied_with.empty())
    return fmt::format("tied with {} other{} (trial{} {})", raced.tied_with.size(),
                       raced.tied_with.size() == 1 ? "" : "s",
                       raced.tied_with.size() == 1 ? "" : "s", fmt::join(raced.tied_with, ", "));
  if (row.tied_first) return fmt::format("faster than the {} other{}", others, plural);
  return fmt::format("{:.4f} times the fastest's time [{}, {}]", row.ratio.value,
                     bound_text(row.ratio.low, "0"), bound_text(row.ratio.high, "unbounded"));
}

Json final_json(const RacedFinal& raced) {
  const db::FinalRow& row = raced.row;
  Json cold;
  if (row.cold) {
    cold = interval_json(row.cold->us);
    cold["samples"] = row.cold_samples_us;
    cold["detail"] = parsed(row.cold_detail_json);
  }
  return {{"place", row.place},
          {"of", raced.of},
          {"tied_with", raced.tied_with},
          {"ratio", interval_json(row.ratio)},
          {"blocks", row.blocks},
          {"detail", parsed(row.detail_json)},
          {"cold_us", cold}};
}

std::optional<Interval> shown_time(const db::TrialRow& trial) {
  if (trial.final_time) return trial.final_time->us;
  return trial.screen_time ? std::optional(trial.screen_time->us) : std::nullopt;
}

std::optional<double> shown_us(const db::TrialRow& trial) {
  const auto us = shown_time(trial);
  return us ? std::optional(us->value) : std::nullopt;
}

std::optional<double> times_as_fast(const db::TrialRow& trial, const db::PlainKernelRow& plain) {
  if (!plain.time || !trial.screen_time) return std::nullopt;
  const double us = trial.screen_time->us.value;
  return measure::us_at_clock(plain.time->us.value, plain.detail_json,
                              measure::mhz_of(us, trial.detail_json)) /
         us;
}

std::string beside_plain(const db::TrialRow& trial, const db::PlainKernelRow& plain,
                         const std::string& time_kind) {
  if (!plain.time) return "the plain kernel was not timed: " + plain.message;
  const std::string us = time_text(plain.time->us.value) + " us " + time_kind;
  const auto times = times_as_fast(trial, plain);
  return times ? fmt::format("{:.2f}x the plain kernel, which takes {}", *times, us)
               : "the plain kernel takes " + us;
}

std::string left_open(const db::TrialRow& trial) {
  return trial.outcome == Outcome::passed && trial.stage != "final" ? trial.message : "";
}

std::optional<double> screen_at_clock(const db::TrialRow& trial, double mhz) {
  if (!trial.screen_time) return std::nullopt;
  return measure::us_at_clock(trial.screen_time->us.value, trial.detail_json, mhz);
}

TrialOfRun require_trial(const db::Store& store, std::int64_t trial) {
  const auto row = store.trial(trial);
  if (!row)
    throw UserError(fmt::format(
        "trial {}: the database has no such trial; 'fa-tune best' lists the good ones", trial));
  TrialOfRun both{*row, store.run(row->run).value()};
  const auto finals = raced_finals(store, row->run);
  if (const auto found = finals.find(trial); found != finals.end()) both.raced = found->second;
  both.plain = store.plain_kernel(row->run);
  return both;
}

Constants shape_of(const std::string& json) {
  const Config settings = Config::from_json(json);
  return {settings.settings().begin(), settings.settings().end()};
}

std::string context_text(const db::RunRow& run) {
  const std::string device = run.device_name.empty() || run.device_name == run.device
                                 ? run.device + " (" + run.arch + ")"
                                 : run.device_name + " (" + run.device + ", " + run.arch + ")";
  return fmt::format("{}: {} {} on {}, {} times", run.space, run.problem,
                     settings_text(run.shape_json), device, run.time_kind);
}

}  // namespace fa_tune::report
