#include "engine/report/show.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "engine/report/cost.hpp"
#include "engine/report/profile.hpp"
#include "engine/report/rows.hpp"
#include "engine/report/table.hpp"
#include "engine/report/text_format.hpp"
#include "engine/util/printable.hpp"

namespace fa_tune::report {
namespace {

// Labels on the left, wrapped text on the right.
class Page {
 public:
  void section(const std::string& title) { text_ += (text_.empty() ? "" : "\n") + title + '\n'; }

  void line(std::string label, const std::string& value) {
    // No page is that long; what a stranger's database holds may be.
    constexpr std::size_t kLongest = std::size_t{64} << 10;
    const bool cut = value.size() > kLongest;
    text_ += labelled("  ", std::move(label),
                      value.empty() ? "-"
                      : cut         ? VisibleText().take(value.substr(0, kLongest)) + "..."
                                    : value,
                      18);
  }

  // Lines that are laid out already.
  void block(const std::string& lines) { text_ += lines; }

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string bytes_text(int bytes) { return bytes < 0 ? "-" : fmt::format("{} bytes", bytes); }

void show_origin(Page& page, const db::Store& store, const TrialOfRun& both) {
  const db::TrialRow& trial = both.trial;
  const db::RunRow& run = both.run;
  page.section(fmt::format("Trial {}: number {} of run {}", trial.id, trial.number, run.id));
  page.line("space", run.space + ", hash " + run.space_hash);
  page.line("problem", run.problem + " " + settings_text(run.shape_json));
  page.line("device", run.device + ", " + run.device_name);
  page.line("compiled", fmt::format("{} for {}, limits of {}", run.compiler, run.arch, run.target));
  page.line("driver", run.driver);
  page.line("strategy", fmt::format("{}, seed {}", run.strategy, run.seed));
  page.line("finished", trial.finished_at);
  page.line("config", settings_text(trial.config_json));
  page.line("operator", trial.operation);
  for (const db::ParentRow& parent : store.parents(trial.id))
    page.line(parent.ordinal == 0 ? "parent" : "other parent",
              fmt::format("trial {}: {}", parent.parent, genes_text(parent.genes_json)));
}

void show_verdict(Page& page, const db::TrialRow& trial) {
  page.section("Verdict");
  page.line("outcome", fmt::format("{} at stage {}", to_text(trial.outcome), trial.stage));
  if (trial.finding != to_text(trial.outcome)) page.line("finding", trial.finding);
  // What a trial left open the finals have looked at.
  if (!trial.message.empty() && !(trial.outcome == Outcome::passed && trial.stage == "final"))
    page.line("message", trial.message);
  if (trial.duplicate_of != 0)
    page.line("duplicate of", fmt::format("trial {}", trial.duplicate_of));
  if (trial.gate_cases > 0) {
    page.line("gate cases", std::to_string(trial.gate_cases));
    page.line("worst error", fmt::format("{:.3g} of what is allowed, relative RMS {:.3g}",
                                         trial.worst_ratio, trial.worst_rms));
  }
}

void show_cost(Page& page, const db::TrialRow& trial) {
  page.section("Cost");
  page.line("registers", trial.registers < 0 ? "-" : std::to_string(trial.registers));
  page.line("spilled", bytes_text(trial.spill_bytes));
  page.line("static shared", bytes_text(trial.static_shared_bytes));
  page.line("dynamic shared", bytes_text(trial.dynamic_shared_bytes));
  page.line("spent", fmt::format("compile {:.1f} ms, gate {:.1f} ms, measure {:.1f} ms",
                                 trial.compile_ms, trial.gate_ms, trial.measure_ms));
  page.line("source", trial.source_hash);
  page.line("code", trial.code_hash);
}

void show_times(Page& page, const db::Store& store, const TrialOfRun& both) {
  const auto& [trial, run, raced, plain, ties] = both;
  page.section(run.time_kind == "measured" ? "Time, measured" : "Time, predicted");
  if (!shown_time(trial)) page.line("time", "none: the trial was not timed");
  const auto line = [&](const char* phase, const Interval& us) {
    page.line(phase, fmt::format("{} us, interval {}", time_text(us.value), interval_text(us)));
  };
  if (trial.screen_time) line("screen", trial.screen_time->us);
  if (trial.final_time) line("final", trial.final_time->us);
  if (const std::string words = interval_rests_on(trial); !words.empty())
    page.line("interval", words);
  if (plain) page.line("beside", beside_plain(trial, *plain, run.time_kind));
  for (const db::SampleRow& series : store.samples(trial.id)) {
    if (series.us.empty()) continue;
    const auto [low, high] = std::minmax_element(series.us.begin(), series.us.end());
    page.line(series.phase + " samples", fmt::format("{}, from {} to {} us", series.us.size(),
                                                     time_text(*low), time_text(*high)));
  }
}

// One of several steps or kernels. All that is known of a step is in the JSON of the trial.
void show_part(Page& page, const std::string& what, const nlohmann::ordered_json& part) {
  if (what == "step")
    page.line(what, fmt::format("{}: {} us, bound by {}", part.value("step", ""),
                                time_text(part.value("us", 0.0)), part.value("bound_by", "")));
  else
    page.line(what,
              fmt::format("{}: {} registers, {} bytes spilled, {} static and {} dynamic shared",
                          part.value("kernel", ""), part.value("registers", -1),
                          part.value("spill_bytes", -1), part.value("static_shared_bytes", -1),
                          part.value("dynamic_shared_bytes", 0)));
}

// Numbers by name in words that a line can be broken between, as JSON's cannot.
std::string detail_text(const nlohmann::ordered_json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_structured()) return value.dump();
  std::string text;
  for (const auto& [name, one] : value.items()) {
    if (one.is_structured() && !one.empty()) return value.dump();
    text += (text.empty() ? "" : ", ") + (value.is_object() ? name + " " : "") + detail_text(one);
  }
  return text.empty() ? "none" : text;
}

void show_detail(Page& page, const std::string& title, const std::string& json) {
  const auto detail = nlohmann::ordered_json::parse(json, nullptr, false);
  if (!detail.is_object()) return;
  page.section(title);
  for (const auto& [name, value] : detail.items()) {
    if (name == "interval") continue;  // it stands beside the time
    if (name == "steps" || name == "kernels")
      for (const auto& one : value) show_part(page, name == "steps" ? "step" : "kernel", one);
    else
      page.line(name, detail_text(value));
  }
}

void show_final(Page& page, const RacedFinal& raced) {
  const db::FinalRow& row = raced.row;
  page.section("Final, measured in new processes");
  page.line("place", fmt::format("{} of {}: {}", row.place, raced.of, standing_text(raced)));
  page.line("blocks", std::to_string(row.blocks));
  if (row.cold)
    page.line("cold L2", fmt::format("{} us, interval {}, of {} launches, each after a flush",
                                     time_text(row.cold->us.value), interval_text(row.cold->us),
                                     row.cold_samples_us.size()));
  show_detail(page, "Final, how its samples were taken", row.detail_json);
  if (row.cold) show_detail(page, "Final, how those of a cold L2 were taken", row.cold_detail_json);
}

void show_profiles(Page& page, const db::Store& store, const db::TrialRow& trial) {
  for (const db::ProfileRow& row : store.profiles(trial.run)) {
    if (row.trial != trial.id) continue;
    const Profile profile = read_profile(row.profile_json, fmt::format("trial {}", trial.id));
    page.section(fmt::format("Profile by {}", source_words(profile)));
    page.line("profiled", row.at);
    page.block(profile_text(profile));
  }
}

void show_run_cost(Page& page, const db::Store& store, const db::RunRow& run,
                   std::optional<double> price) {
  const RunCost cost = cost_of(store.sessions(run.id), run.time_kind == "measured");
  const auto lines = cost_words(cost, percent_gained(store, run.id), price);
  if (lines.empty()) return;
  page.section(fmt::format("Search of run {}", run.id));
  std::string label = "cost";
  for (const std::string& line : lines) page.line(std::exchange(label, ""), line);
}

}  // namespace

std::string show_text(const db::Store& store, std::int64_t trial, std::optional<double> price) {
  const TrialOfRun both = require_trial(store, trial);
  Page page;
  show_origin(page, store, both);
  show_verdict(page, both.trial);
  show_cost(page, both.trial);
  show_times(page, store, both);
  if (!both.trial.detail_json.empty()) show_detail(page, "Detail", both.trial.detail_json);
  if (both.raced) show_final(page, *both.raced);
  show_profiles(page, store, both.trial);
  show_run_cost(page, store, both.run, price);
  return page.text();
}

}  // namespace fa_tune::report
