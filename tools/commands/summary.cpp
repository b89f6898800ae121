#include "tools/commands/summary.hpp"

#include <algorithm>
#include <set>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "engine/measure/timing.hpp"
#include "engine/report/failures.hpp"
#include "engine/report/prediction.hpp"
#include "engine/report/rows.hpp"
#include "engine/report/table.hpp"
#include "engine/report/text_format.hpp"
#include "engine/util/log.hpp"
#include "engine/util/shell.hpp"

namespace fa_tune::commands {
namespace {

using Json = nlohmann::ordered_json;

std::string settings_lines(const std::string& config_json) {
  std::string text;
  std::string line = "   ";
  const Config config = Config::from_json(config_json);
  for (const auto& [name, value] : config.settings()) {
    const std::string item = " " + name + " " + to_text(value);
    if (line.size() + item.size() > 96) {
      text += line + "\n";
      line = "   ";
    }
    line += item;
  }
  return text + line + "\n";
}

std::size_t configs_of(const std::vector<db::TrialRow>& trials) {
  std::set<std::string> configs;
  for (const db::TrialRow& trial : trials) configs.insert(trial.config_json);
  return configs.size();
}

// Against a kernel that was timed in the same way: finals with finals, else by the screens.
std::string compared(const db::TrialRow& best, const db::TrialRow& other) {
  const bool finals = best.final_time && other.final_time;
  const double mine = (finals ? best.final_time->us : best.screen_time->us).value;
  const double theirs = (finals ? other.final_time->us : other.screen_time->us).value;
  return fmt::format("{:>9.2f} us  {:>7.2f}x", theirs, theirs / mine);
}

// " [4.10, 4.22]", or nothing where it is not known.
std::string ends_text(const Interval& us) {
  const auto low = known_end(us.low), high = known_end(us.high);
  return low && high ? fmt::format(" [{:.2f}, {:.2f}]", *low, *high) : "";
}

// How far off the best predicted time may be, and what it is not told apart from.
std::string prediction_lines(const db::TrialRow& best, const std::vector<db::TrialRow>& trials) {
  std::string text;
  const auto add = [&](const std::string& words) {
    for (const std::string& line : report::wrap_words(words, report::kPageWidth - 2))
      text += "  " + line + '\n';
  };
  if (const std::string words = report::interval_rests_on(best); !words.empty()) add(words);
  if (const auto ties = report::predicted_ties(best, trials)) add(report::ties_text(*ties));
  return text;
}

// Of a programmatic launch, whose time in a row of launches is not what one takes.
std::string one_by_one_line(const std::string& detail_json) {
  const Json detail = Json::parse(detail_json, nullptr, false);
  if (!detail.is_object() || !detail.contains(measure::kOneByOneUs)) return "";
  return fmt::format(
      "  each launch begins while the one before ends; one after the other {:.2f} us\n",
      detail[measure::kOneByOneUs]["median"].get<double>());
}

std::string known_best_line(const tuner::KnownBest& known, double best_us) {
  const std::string name = fmt::format("  known best of this space, {}: ", known.name);
  if (!known.ratio) return name + known.message + "\n";
  const Interval& ratio = *known.ratio;
  // The run's time over the known one's.
  const double times = 1 / ratio.value;
  std::string text = name + fmt::format("{:.2f} us; this run's best takes {:.3f} times as long",
                                        best_us * ratio.value, times);
  if (known_end(ratio.low) && known_end(ratio.high))
    text += fmt::format(" [{:.3f}, {:.3f}]", 1 / ratio.high, 1 / ratio.low);
  return text + "\n";
}

}  // namespace

std::string summarize(const tuner::TuningTask& task, const db::Store& store,
                      const tuner::EvolveResult& result, const std::string& db) {
  const auto run = store.run(result.run);
  db::TrialFilter filter;
  filter.run = result.run;
  filter.limit = 1;
  const auto ranked = store.best(filter);
  const auto trials = store.trials(result.run);
  const auto failures = report::failure_groups(trials);
  std::string text = report::common_failures(*run, trials.size(), failures, db);
  if (task.space.exact() && configs_of(trials) >= task.space.count())
    text += fmt::format("\nAll {} valid configs of the space were tried.\n", task.space.count());
  if (ranked.empty()) return text;
  const db::TrialRow& best = ranked.front();
  const bool predicted = run->time_kind == "predicted";
  const Interval us = *report::shown_time(best);

  text += fmt::format("\nbest: trial {} of run {}, {:.2f} us {}{}\n", best.id, result.run, us.value,
                      predicted ? fmt::format("predicted for {} (no GPU was used)",
                                              device::modelled_gpu(run->device_name))
                                : fmt::format("measured on {}", run->device_name),
                      ends_text(us));
  if (predicted) text += prediction_lines(best, trials);
  const auto finals = report::raced_finals(store, result.run);
  if (const auto raced = finals.find(best.id); raced != finals.end())
    text += fmt::format("  in the finals: {}\n", report::standing_text(raced->second)) +
            one_by_one_line(raced->second.row.detail_json);
  text += settings_lines(best.config_json);
  for (const space::Preset& preset : task.space.presets()) {
    const auto found = std::ranges::find_if(trials, [&](const db::TrialRow& trial) {
      return trial.config_json == preset.config.to_json();
    });
    if (found == trials.end()) continue;
    text += found->outcome == Outcome::passed && found->screen_time
                ? fmt::format("  against preset {:<12} {}\n", preset.name, compared(best, *found))
                : fmt::format("  against preset {:<12} {}: {}\n", preset.name,
                              to_text(found->outcome), found->message);
  }
  for (const tuner::KnownBest& known : result.known_best) text += known_best_line(known, us.value);
  if (const auto plain = store.plain_kernel(result.run)) {
    const auto times = report::times_as_fast(best, *plain);
    text += times ? fmt::format("  against the plain kernel   {:>11.2f} us  {:>7.2f}x\n",
                                plain->time->us.value, *times)
                  : fmt::format("  {}\n", report::beside_plain(best, *plain, run->time_kind));
  }
  if (is_logged(LogLevel::warning))
    text += fmt::format(
        "\nnext:\n"
        "  {3} best --run {2} --db {0}\n"
        "  {3} show {1} --db {0}\n"
        "  {3} profile {1} --db {0}\n"
        "  {3} export {1} --db {0} --out winner.cu\n"
        "  {3} verify winner.cu\n",
        shell_word(db), best.id, result.run, program_name());
  return text;
}

std::string summary_json(const db::Store& store, const tuner::EvolveResult& result) {
  const auto run = store.run(result.run);
  db::TrialFilter filter;
  filter.run = result.run;
  filter.limit = 1;
  Json best;
  const auto plain = store.plain_kernel(result.run);
  for (const db::TrialRow& trial : store.best(filter)) {
    best = {{"trial", trial.id},
            {"config", Json::parse(trial.config_json)},
            {"stage", trial.stage},
            {"time_us", report::interval_json(*report::shown_time(trial))}};
    best["time_us"]["kind"] = run->time_kind;
    if (run->time_kind == "predicted")
      best["prediction"] =
          report::prediction_json(trial, report::predicted_ties(trial, store.trials(result.run)));
  }
  Json known = Json::array();
  for (const tuner::KnownBest& each : result.known_best)
    known.push_back({{"name", each.name},
                     {"ratio", each.ratio ? report::interval_json(*each.ratio) : Json()},
                     {"message", each.message}});
  const tuner::RunCounts& counts = result.counts;
  const Json json = {
      {"run", result.run},
      {"state", run->state},
      {"trials",
       {{"all", counts.trials},
        {"passed", counts.passed},
        {"failed", counts.failed},
        {"duplicate", counts.duplicate}}},
      {"seconds", counts.seconds},
      {"best", best},
      {"baseline_us", counts.baseline ? Json(counts.baseline->screen_time->us.value) : Json()},
      {"plain_us", plain && plain->time ? Json(plain->time->us.value) : Json()},
      {"known_best", known},
      {"breakdown", to_json(result.breakdown)}};
  return json.dump(2) + "\n";
}

void announce_coverage(const problem::Problem& problem) {
  for (const std::string& note : problem.notes()) log_info("{}", note);
  const problem::Coverage usual = problem.coverage(problem.shape(), problem::Truth::usual);
  const problem::Coverage thorough = problem.coverage(problem.shape(), problem::Truth::thorough);
  if (usual.every <= 1) return;
  log_info(
      "the shape is large: trials are compared with float64 on {} of its {} rows (one of every "
      "{}), "
      "finals on {}; elsewhere outputs must be finite and within the range of what they are made "
      "of",
      usual.rows, usual.of, usual.every,
      thorough.every > 1 ? std::to_string(thorough.rows) : "all");
}

}  // namespace fa_tune::commands
