#include "engine/tuner/finals/finals.hpp"

#include <algorithm>
#include <chrono>
#include <future>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "engine/measure/timing.hpp"
#include "engine/tuner/finals/final_places.hpp"
#include "engine/tuner/finals/final_race.hpp"
#include "engine/tuner/finals/finalist_gate.hpp"
#include "engine/tuner/finals/finalists.hpp"
#include "engine/tuner/trial/trial.hpp"
#include "engine/util/log.hpp"
#include "engine/util/random.hpp"

namespace fa_tune::tuner {
namespace {

void take_figure(db::TrialRow& trial, const db::FinalTime& time) {
  trial.stage = "final";
  trial.final_time = time;
}

// The contestant that others are timed beside: the first preset, if it is there. One that takes
// much longer than the fastest would take most of the race's time, which is to be spent on those
// that are near one another, and draws other power: then it runs as any other, and is soon told
// apart.
std::size_t baseline_of(const TuningTask& task, const std::vector<db::TrialRow>& standing) {
  constexpr double kMostTimes = 1.5;
  const auto& presets = task.space.presets();
  if (presets.empty()) return 0;
  const std::string config = presets.front().config.to_json();
  const auto found = std::ranges::find(standing, config, &db::TrialRow::config_json);
  if (found == standing.end() ||
      found->screen_time->us.value > kMostTimes * standing.front().screen_time->us.value)
    return 0;
  return static_cast<std::size_t>(found - standing.begin());
}

FinalRace race_standing(const TuningTask& task, device::Device& device, kernel::CompilePool& pool,
                        const std::vector<db::TrialRow>& standing, std::uint64_t seed,
                        const std::atomic<bool>& stop, const FinalsListener& listener) {
  std::vector<Config> configs;
  for (const db::TrialRow& trial : standing)
    configs.push_back(Config::from_json(trial.config_json));
  RaceSettings settings;
  listener.step("raced", 0, settings.processes);
  settings.process_over = [&](int done) { listener.step("raced", done, settings.processes); };
  return race_finalists(task, device, pool, configs, baseline_of(task, standing), seed, stop,
                        settings);
}

// Each by the figure that it had by itself.
std::vector<db::FinalRow> without_race(const std::vector<db::TrialRow>& standing,
                                       const std::map<std::int64_t, FinalVerdict>& verdicts) {
  std::vector<db::FinalRow> rows;
  for (const db::TrialRow& trial : standing) {
    const measure::Measurement& measured = *verdicts.at(trial.id).measured;
    db::FinalRow row;
    row.trial = trial.id;
    row.time = {measured.time_us};
    row.rank_us = row.time.us.value;
    row.samples_us = measured.timing.samples_us;
    row.detail_json = measure::detail_json_of(measured.timing);
    rows.push_back(std::move(row));
  }
  std::ranges::stable_sort(rows, {}, &db::FinalRow::rank_us);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].place = static_cast<int>(i) + 1;
    rows[i].tied_first = i == 0;
    rows[i].ratio = {rows[i].time.us.value / rows.front().time.us.value};
  }
  return rows;
}

// One race had all of these and nobody else that still has a figure of it.
bool is_raced(const std::vector<db::FinalRow>& stored, const std::vector<db::TrialRow>& finalists) {
  std::set<std::int64_t> wanted;
  for (const db::TrialRow& trial : finalists)
    if (trial.outcome == Outcome::passed) wanted.insert(trial.id);
  std::map<int, std::set<std::int64_t>> races;
  for (const db::FinalRow& row : stored) races[row.race].insert(row.trial);
  return std::ranges::any_of(races, [&](const auto& race) { return race.second == wanted; });
}

// What the sanitizer check says of each, by trial; nothing where there is none. All of it is over
// when this returns: nothing may run beside a clock. False if `stop` was set.
bool sanitize_all(const TuningTask& task, const device::Device& device, kernel::CompilePool& pool,
                  const EmulatorOpener& emulator, const std::vector<db::TrialRow>& finalists,
                  std::uint64_t seed, const std::atomic<bool>& stop, const FinalsListener& listener,
                  std::map<std::int64_t, SanitizerResult>& results) {
  constexpr std::chrono::milliseconds kPause{100};
  if (device.info().checks) return true;
  listener.step("checked", 0, static_cast<int>(finalists.size()));
  SanitizerCheck check(task, device, pool, emulator, seed);
  std::vector<std::future<SanitizerResult>> under_way;
  for (const db::TrialRow& trial : finalists) {
    const Config config = Config::from_json(trial.config_json);
    under_way.push_back(check.start(task.template_of(config), config));
  }
  for (std::size_t i = 0; i < finalists.size(); ++i) {
    while (under_way[i].wait_for(kPause) != std::future_status::ready)
      if (stop) return false;
    const SanitizerResult result = under_way[i].get();
    if (!result.whole() && !result.rejection)
      log_info("trial {} on an emulator: {}", finalists[i].id, result.text());
    if (result.of > 0) results[finalists[i].id] = result;
    listener.step("checked", static_cast<int>(i) + 1, static_cast<int>(finalists.size()));
  }
  return !stop;
}

std::string with_result(const std::string& detail_json, const SanitizerResult& result) {
  auto detail = nlohmann::ordered_json::parse(detail_json);
  if (detail.is_object()) detail["sanitizer"] = result.text();
  return detail.dump();
}

std::string with_one_by_one(const std::string& detail_json, const Interval& us) {
  auto detail = nlohmann::ordered_json::parse(detail_json);
  if (detail.is_object())
    detail[measure::kOneByOneUs] = {{"median", us.value}, {"low", us.low}, {"high", us.high}};
  return detail.dump();
}

bool predicted_finals(const TuningTask& task, device::Device& device, kernel::CompilePool& pool,
                      db::Store& store, std::vector<db::TrialRow> finalists, std::uint64_t seed,
                      const std::vector<std::string>& suites, EvolveListener& listener,
                      const std::atomic<bool>& stop) {
  FinalistGate gate(task, device, pool, seed, suites, stop);
  int done = 0;
  for (db::TrialRow& trial : finalists) {
    if (stop) return false;
    if (trial.stage != "final") {
      listener.on_final_step("gated", done, 1);
      const FinalVerdict verdict = gate.check(trial);
      if (verdict.measured && !verdict.lost) {
        const db::FinalTime time{verdict.measured->time_us};
        take_figure(trial, time);
        store.record_final(trial.id, time, verdict.measured->timing.samples_us);
      } else if (!verdict.lost) {
        fail(trial, verdict.measured.error());
        store.fail_final(trial.id, trial.finding, trial.message);
      }
      if (verdict.lost) return false;
    }
    listener.on_final(trial, ++done, 1);
    if (device.lost()) return false;
    if (trial.outcome == Outcome::passed) return true;
  }
  return true;
}

}  // namespace

FinalRound hold_finals(const TuningTask& task, device::Device& device, kernel::CompilePool& pool,
                       const EmulatorOpener& emulator, const std::vector<db::TrialRow>& finalists,
                       std::uint64_t seed, const std::vector<std::string>& suites,
                       const std::atomic<bool>& stop, const FinalsListener& listener) {
  FinalRound round;
  if (!device.renew()) return round;
  FinalistGate gate(task, device, pool, seed, suites, stop);
  for (const db::TrialRow& trial : finalists) gate.prepare(trial);
  std::map<std::int64_t, SanitizerResult> results;
  if (!sanitize_all(task, device, pool, emulator, finalists, seed, stop, listener, results))
    return round;
  listener.step("gated", 0, static_cast<int>(finalists.size()));
  gate.finish_preparing();
  std::vector<db::TrialRow> standing;
  std::map<std::int64_t, FinalVerdict> verdicts;  // by trial
  for (std::size_t i = 0; i < finalists.size(); ++i) {
    db::TrialRow trial = finalists[i];
    if (stop) return round;
    if (const auto result = results.find(trial.id);
        result != results.end() && result->second.rejection) {
      fail(trial, *result->second.rejection);
      listener.failed(trial);
      continue;
    }
    FinalVerdict verdict = gate.check(trial);
    if (verdict.lost) return round;
    listener.step("gated", static_cast<int>(i) + 1, static_cast<int>(finalists.size()));
    if (!verdict.measured) {
      fail(trial, verdict.measured.error());
      listener.failed(trial);
      continue;
    }
    verdicts[trial.id] = std::move(verdict);
    standing.push_back(std::move(trial));
  }
  const bool to_be_raced = standing.size() > 1 && device.info().times == device::TimeKind::measured;
  FinalRace race;
  if (to_be_raced) race = race_standing(task, device, pool, standing, seed, stop, listener);
  if (race.lost) return round;
  for (const auto& [finalist, rejection] : race.failed) {
    db::TrialRow& trial = standing[finalist];
    fail(trial, rejection);
    listener.failed(trial);
  }
  round.over = true;
  round.rows = final_places(standing, race);
  if (race.ran.empty()) {
    std::erase_if(standing,
                  [](const db::TrialRow& trial) { return trial.outcome != Outcome::passed; });
    if (to_be_raced)
      log_warning(
          "the finals could not be raced: too few were left, or the clock never kept still");
    round.rows = without_race(standing, verdicts);
  }
  for (db::FinalRow& row : round.rows) {
    if (const auto result = results.find(row.trial); result != results.end())
      row.detail_json = with_result(row.detail_json, result->second);
    const FinalVerdict& verdict = verdicts.at(row.trial);
    if (verdict.one_by_one)
      row.detail_json = with_one_by_one(row.detail_json, verdict.one_by_one->time_us);
    const auto& cold = verdict.cold;
    if (!cold) continue;
    row.cold = db::FinalTime{cold->time_us};
    row.cold_samples_us = cold->timing.samples_us;
    row.cold_detail_json = measure::detail_json_of(cold->timing);
  }
  return round;
}

bool run_finals(const TuningTask& task, device::Device& device, kernel::CompilePool& pool,
                const EmulatorOpener& emulator, db::Store& store, std::int64_t run,
                std::uint64_t seed, const std::vector<std::string>& suites,
                EvolveListener& listener, const std::atomic<bool>& stop) {
  const std::vector<db::TrialRow> finalists = choose_finalists(task, store, run);
  // Their suites have longer shapes than the one that the incumbent was timed at.
  device.note_incumbent(0);
  if (device.info().times == device::TimeKind::predicted)
    return predicted_finals(task, device, pool, store, finalists, seed, suites, listener, stop);

  const std::vector<db::FinalRow> stored = store.finals(run);
  if (is_raced(stored, finalists)) return true;
  int race = 1;
  for (const db::FinalRow& row : stored) race = std::max(race, row.race + 1);
  std::vector<db::TrialRow> passed;
  std::ranges::copy_if(finalists, std::back_inserter(passed),
                       [](const db::TrialRow& trial) { return trial.outcome == Outcome::passed; });
  const int of = static_cast<int>(passed.size());
  int done = 0;
  const FinalsListener steps{
      .failed =
          [&](const db::TrialRow& trial) {
            store.fail_final(trial.id, trial.finding, trial.message);
            listener.on_final(trial, ++done, of);
          },
      .step = [&](const std::string& step, int so_many,
                  int of_all) { listener.on_final_step(step, so_many, of_all); }};
  FinalRound round = hold_finals(task, device, pool, emulator, passed, seed, suites, stop, steps);
  if (!round.over) return false;
  for (db::FinalRow& row : round.rows) row.race = race;
  store.record_race(round.rows);
  for (const db::FinalRow& row : round.rows) {
    db::TrialRow trial = *std::ranges::find(passed, row.trial, &db::TrialRow::id);
    take_figure(trial, row.time);
    listener.on_final(trial, ++done, of);
  }
  return !device.lost();
}

}  // namespace fa_tune::tuner
