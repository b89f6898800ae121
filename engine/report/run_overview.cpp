#include "engine/report/run_overview.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "engine/report/json.hpp"
#include "engine/report/rows.hpp"
#include "engine/report/table.hpp"
#include "engine/report/text_format.hpp"
#include "engine/util/error.hpp"
#include "engine/util/instant.hpp"
#include "engine/util/printable.hpp"
#include "engine/util/shell.hpp"

namespace fa_tune::report {
namespace {

using Instant = RunOverview::Instant;
using nlohmann::ordered_json;

constexpr double kRecent = 60;  // seconds
// Of devices that were lost, those that a table names: a node may come and go for hours.
constexpr std::size_t kMostLost = 12;

double seconds_between(Instant from, Instant to) {
  return std::max(0.0, std::chrono::duration<double>(to - from).count());
}

std::string node_of(const std::string& device) {
  const std::size_t slash = device.rfind('/');
  return slash == std::string::npos ? "" : device.substr(0, slash);
}

bool is_there(const RunOverview::Device& device) {
  return device.state == "working" || device.state == "idle";
}

RunOverview::Device read_device(const ordered_json& json, const RunOverview& overview,
                                Instant now) {
  RunOverview::Device device;
  device.name = json.at("device").get<std::string>();
  device.node = node_of(device.name);
  device.state = json.at("state").get<std::string>();
  device.does = word_of(json.at("does"));
  device.why = word_of(json.at("why"));
  if (const auto since = instant_of(json.at("since").get<std::string>()))
    device.since_s = seconds_between(*since, now);
  // Who ended in good order has let go of them.
  if (is_there(device) && !overview.runs && overview.standing != "killed") {
    device.state = "released";
    device.does.clear();
  }
  return device;
}

void take_status(RunOverview& overview, const db::RunStatusRow& row, Instant now, Instant& began) {
  try {
    const ordered_json status = ordered_json::parse(row.status_json);
    overview.phase = status.at("phase").get<std::string>();
    overview.waits_for = word_of(status.at("waits_for"));
    const ordered_json& budget = status.at("budget");
    overview.budget_trials = budget.at("trials").get<std::optional<int>>();
    overview.budget_seconds = budget.at("seconds").get<std::optional<double>>();
    if (const ordered_json& step = status.at("step"); !step.is_null())
      overview.step = {step.at("name").get<std::string>(), step.at("done").get<int>(),
                       step.at("of").get<int>()};
    began = instant_of(status.at("began").get<std::string>()).value_or(now);
    for (const ordered_json& each : status.at("devices"))
      overview.devices.push_back(read_device(each, overview, now));
  } catch (const ordered_json::exception&) {
    throw UserError(fmt::format("run {}: its status is none that fa-tune wrote: {}",
                                overview.run.id, printable(row.status_json, kLongestQuote)));
  }
}

// By device, also those of earlier sessions.
void count_trials(RunOverview& overview, const std::vector<db::TrialRow>& trials) {
  std::map<std::string, int> by_device;
  for (const db::TrialRow& trial : trials) {
    ++(trial.outcome == Outcome::passed   ? overview.passed
       : trial.outcome == Outcome::failed ? overview.failed
                                          : overview.duplicate);
    if (!trial.device.empty()) ++by_device[trial.device];
  }
  for (RunOverview::Device& device : overview.devices)
    if (const auto found = by_device.extract(device.name)) device.trials = found.mapped();
  for (const auto& [name, count] : by_device) {
    RunOverview::Device& device = overview.devices.emplace_back();
    device.name = name;
    device.node = node_of(name);
    device.state = "earlier";
    device.trials = count;
  }
}

void take_times(RunOverview& overview, const std::vector<db::TrialRow>& trials, Instant now,
                Instant began) {
  const bool searches = overview.runs && (overview.phase.empty() || overview.phase == "search");
  std::optional<Instant> last;
  int recent = 0;
  const Instant from = std::max(began, now - std::chrono::duration_cast<Instant::duration>(
                                                 std::chrono::duration<double>(kRecent)));
  for (const db::TrialRow& trial : trials) {
    if (trial.at_ms) overview.seconds = std::max(overview.seconds, *trial.at_ms / 1000);
    const auto finished = instant_of(trial.finished_at);
    if (!finished) continue;
    last = std::max(last.value_or(*finished), *finished);
    recent += *finished >= from;
  }
  if (searches && overview.seconds > 0 && last)
    overview.seconds += seconds_between(std::max(*last, began), now);
  if (overview.seconds > 0 && !trials.empty())
    overview.per_second = static_cast<double>(trials.size()) / overview.seconds;
  if (!searches) return;
  if (const double length = seconds_between(from, now); length >= 1)
    overview.recently = recent / length;
  overview.left_s = seconds_left(overview.budget_trials, overview.budget_seconds, overview.trials(),
                                 overview.seconds);
}

std::string state_words(const RunOverview& overview) {
  if (overview.standing == "killed")
    return "killed: the process that worked on it ended without a word";
  if (!overview.runs) return overview.standing;
  std::string text = overview.standing;
  if (overview.step)
    text += fmt::format(", finals: {} {} of {}", overview.step->name, overview.step->done,
                        overview.step->of);
  else if (!overview.phase.empty())
    text += overview.phase == "search" ? ", searches" : ", " + overview.phase;
  if (!overview.waits_for.empty()) text += "; waits for " + overview.waits_for;
  return text;
}

std::string device_words(const RunOverview& overview) {
  std::set<std::string> nodes;
  std::vector<std::string> parts;
  int there = 0;
  for (const RunOverview::Device& each : overview.devices) {
    if (!is_there(each) && each.state != "released") continue;
    ++there;
    if (!each.node.empty()) nodes.insert(each.node);
  }
  std::string text = fmt::format("{}", there);
  if (!nodes.empty())
    text += fmt::format(" on {} {}", nodes.size(), nodes.size() == 1 ? "node" : "nodes");
  for (const char* const state : {"working", "idle", "lost", "retired"})
    if (const int count = overview.count(state); count > 0)
      parts.push_back(fmt::format("{} {}", count, state));
  return parts.empty() ? text : fmt::format("{}: {}", text, fmt::join(parts, ", "));
}

// Of a command that goes on with the run.
std::string device_options(const RunOverview& overview) {
  const bool nodes = std::ranges::any_of(
      overview.devices, [](const RunOverview::Device& each) { return !each.node.empty(); });
  return nodes ? "--listen HOST:PORT --key FILE" : "--device " + shell_word(overview.run.device);
}

std::string does_words(const RunOverview& overview, const RunOverview::Device& device) {
  const std::string since = device.since_s ? format_seconds(*device.since_s) : "";
  if (device.state == "lost" || device.state == "retired") {
    const std::string why = printable(device.why, kLongestReason);
    return since.empty() ? why : fmt::format("{} ago: {}", since, why);
  }
  if (device.state == "earlier") return "in an earlier session";
  if (!is_there(device)) return "";
  if (overview.standing == "killed")
    return device.does.empty() ? "" : device.does + " when the run was killed";
  if (device.state == "idle") return since.empty() ? "" : "for " + since;
  return since.empty() ? device.does : fmt::format("{}, for {}", device.does, since);
}

std::string device_table(const RunOverview& overview) {
  Table table({{"device", Align::left},
               {"state", Align::left},
               {"trials", Align::right},
               {"does", Align::wrap}});
  std::size_t lost = 0;
  for (const RunOverview::Device& each : overview.devices) {
    if (each.state == "lost" && ++lost > kMostLost) continue;
    table.add({each.name, each.state, std::to_string(each.trials), does_words(overview, each)});
  }
  std::string text = "\n" + table.text();
  if (lost > kMostLost) text += fmt::format("... and {} more that are lost\n", lost - kMostLost);
  return text;
}

}  // namespace

int RunOverview::count(const std::string& state) const {
  return static_cast<int>(std::ranges::count(devices, state, &Device::state));
}

std::optional<double> seconds_left(std::optional<int> budget_trials,
                                   std::optional<double> budget_seconds, int trials,
                                   double seconds) {
  std::optional<double> left;
  if (budget_trials && trials > 0)
    left = std::max(0.0, seconds / trials * (*budget_trials - trials));
  if (budget_seconds) {
    const double time = std::max(0.0, *budget_seconds - seconds);
    left = std::min(left.value_or(time), time);
  }
  return left;
}

RunOverview run_overview(const db::Store& store, const db::RunRow& run, Instant now) {
  RunOverview overview;
  overview.run = run;
  overview.standing = store.standing(run);
  overview.runs = overview.standing.starts_with("running");
  Instant began = now;
  if (const auto row = store.status(run.id)) take_status(overview, *row, now, began);
  const auto trials = store.trials(run.id);
  count_trials(overview, trials);
  take_times(overview, trials, now, began);
  db::TrialFilter filter;
  filter.run = run.id;
  filter.limit = 1;
  if (auto best = store.best(filter); !best.empty()) overview.best = std::move(best.front());
  return overview;
}

std::string overview_text(const RunOverview& overview, const std::string& db) {
  std::string text =
      paragraph(fmt::format("run {}, {}", overview.run.id, context_text(overview.run)));
  const auto line = [&](const char* label, const std::string& words) {
    text += labelled("  ", label, words, 9);
  };
  line("state", state_words(overview));
  line("trials",
       fmt::format("{}{}: {} passed, {} failed, {} duplicate", overview.trials(),
                   overview.budget_trials ? fmt::format(" of {}", *overview.budget_trials) : "",
                   overview.passed, overview.failed, overview.duplicate));
  std::vector<std::string> rates;
  if (overview.recently)
    rates.push_back(fmt::format("{:.1f}/s in the last minute", *overview.recently));
  if (overview.per_second)
    rates.push_back(fmt::format("{} in all, {} of search",
                                rate_text(overview.trials(), overview.seconds),
                                format_seconds(overview.seconds)));
  if (!rates.empty()) line("rate", fmt::format("{}", fmt::join(rates, "; ")));
  line("best", overview.best
                   ? fmt::format("trial {}, {} us {}", overview.best->id,
                                 time_text(shown_us(*overview.best)), overview.run.time_kind)
                   : "none yet");
  if (overview.left_s) line("left", format_seconds(*overview.left_s) + " of the search");
  if (!overview.devices.empty()) {
    line("devices", device_words(overview));
    text += device_table(overview);
  }
  if (!overview.runs && overview.run.state != "done")
    text += fmt::format("\nGo on with: {} evolve --db {} --resume {} {}\n", program_name(),
                        shell_word(db), overview.run.id, device_options(overview));
  return text;
}

std::string overview_json(const RunOverview& overview) {
  ordered_json devices = ordered_json::array();
  for (const RunOverview::Device& each : overview.devices)
    devices.push_back({{"device", each.name},
                       {"node", word_json(each.node)},
                       {"state", each.state},
                       {"does", word_json(each.does)},
                       {"why", word_json(each.why)},
                       {"since_s", each.since_s},
                       {"trials", each.trials}});
  ordered_json step;
  if (overview.step)
    step = {
        {"name", overview.step->name}, {"done", overview.step->done}, {"of", overview.step->of}};
  ordered_json best;
  if (overview.best)
    best = {{"trial", overview.best->id},
            {"time_us", shown_us(*overview.best)},
            {"time_kind", overview.run.time_kind}};
  const ordered_json json = {
      {"run", overview.run.id},
      {"standing", overview.standing},
      {"phase", word_json(overview.phase)},
      {"waits_for", word_json(overview.runs ? overview.waits_for : "")},
      {"step", std::move(step)},
      {"budget", {{"trials", overview.budget_trials}, {"seconds", overview.budget_seconds}}},
      {"trials",
       {{"all", overview.trials()},
        {"passed", overview.passed},
        {"failed", overview.failed},
        {"duplicate", overview.duplicate}}},
      {"search_s", overview.seconds},
      {"per_second", overview.per_second},
      {"per_second_recently", overview.recently},
      {"left_s", overview.left_s},
      {"best", std::move(best)},
      {"devices", std::move(devices)}};
  return json.dump(2) + "\n";
}

}  // namespace fa_tune::report
