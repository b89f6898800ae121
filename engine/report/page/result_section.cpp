#include <fmt/core.h>

#include "engine/report/page/charts.hpp"
#include "engine/report/page/markup.hpp"
#include "engine/report/page/sections.hpp"
#include "engine/report/rows.hpp"
#include "engine/report/text_format.hpp"

namespace fa_tune::report {
namespace {

std::string card(const std::string& figure, const std::string& words) {
  return element("div", text_element("b", figure) + text_element("span", words));
}

std::string tflops_text(double tflops) {
  return tflops < 100 ? fmt::format("{:.3g} TFLOP/s", tflops)
                      : fmt::format("{:.0f} TFLOP/s", tflops);
}

std::string interval_words(const db::TrialRow& trial) {
  const Interval us = *shown_time(trial);
  const auto low = known_end(us.low), high = known_end(us.high);
  return low && high ? fmt::format(", [{}, {}]", time_text(low), time_text(high)) : "";
}

// Folded away: for who wants to choose another than the winner.
std::string best_table(const RunFacts& facts) {
  const bool raced = !facts.raced.empty();
  std::vector<std::string> heads = {"config", "trial", facts.run.time_kind + " us"};
  heads.emplace_back("interval");
  if (raced) heads.insert(heads.end(), {"cold L2 us", "standing"});
  heads.insert(heads.end(), {"registers", "spilled"});
  std::vector<std::vector<std::string>> rows = {heads};
  for (const db::TrialRow& trial : facts.best) {
    std::vector<std::string> row = {settings_text(trial.config_json), std::to_string(trial.id),
                                    time_text(shown_us(trial))};
    row.push_back(interval_text(*shown_time(trial)));
    if (raced) {
      const auto found = facts.raced.find(trial.id);
      const bool there = found != facts.raced.end();
      row.push_back(there && found->second.row.cold ? time_text(found->second.row.cold->us.value)
                                                    : "-");
      row.push_back(there ? standing_text(found->second) : "not in the finals");
    }
    row.push_back(count_text(trial.registers));
    row.push_back(count_text(trial.spill_bytes));
    rows.push_back(std::move(row));
  }
  return element("details", text_element("summary", fmt::format("The best {}", facts.best.size())) +
                                table_markup(rows));
}

std::string preset_bars(const RunFacts& facts, const db::TrialRow& winner) {
  struct Rival {
    std::string name;
    double factor;  // its time over the winner's
  };
  std::vector<Rival> rivals;
  std::string failed;
  bool all_finals = winner.stage == "final";
  for (const auto& [name, config] : facts.extras.presets) {
    const db::TrialRow* trial = facts.trial_of(config);
    if (trial == nullptr) continue;
    const auto times = comparable_times(facts, winner, *trial);
    if (!times) {
      failed +=
          text_element("p", fmt::format("The preset {} has no time: {}.", name,
                                        trial->message.empty() ? trial->finding : trial->message));
      continue;
    }
    all_finals = all_finals && trial->stage == "final";
    rivals.push_back({"preset " + name, times->second / times->first});
  }
  if (facts.plain) {
    if (const auto times = times_as_fast(winner, *facts.plain)) {
      rivals.push_back({"the plain kernel", *times});
      all_finals = false;
    } else {
      failed += text_element("p", beside_plain(winner, *facts.plain, facts.run.time_kind) + ".");
    }
  }
  if (rivals.empty()) return failed;
  std::vector<Bar> bars = {{fmt::format("trial {}, the winner", winner.id), 1, "1.00", "", true}};
  for (const Rival& rival : rivals)
    bars.push_back({rival.name, rival.factor, fmt::format("{:.2f}", rival.factor), "", false});
  const std::string caption = fmt::format(
      "{} time as a multiple of the winner's, shorter is faster. {}",
      facts.measured() ? "Measured" : "Predicted",
      !facts.measured() ? "No GPU was used."
      : all_finals      ? "Both were timed in the finals."
                        : "Each pair was timed in the same way, in the finals or by screens.");
  return bars_figure(bars, caption) + failed;
}

std::string rival_bars(const RunFacts& facts) {
  if (!facts.extras.beside) return "";
  const RivalRace& race = *facts.extras.beside;
  const db::TrialRow* own = facts.trial_of(race.config.to_json());
  std::vector<Bar> bars = {{own == nullptr ? "fa-tune" : fmt::format("trial {}", own->id), 1,
                            time_text(race.us) + " us", "", true}};
  for (const Rival& rival : race.rivals)
    bars.push_back({rival.name, rival.factor,
                    fmt::format("{:.3f} [{:.3f}, {:.3f}]", rival.factor, rival.low, rival.high), "",
                    false});
  const std::string caption = fmt::format(
      "Measured beside others in one race of its own: time as a multiple of this kernel's there, "
      "with 95% intervals; shorter is faster. {}, {}, {}; {}.",
      race.device, race.software, race.date, race.method);
  return bars_figure(bars, caption);
}

}  // namespace

std::string result_section(const RunFacts& facts) {
  if (!facts.winner)
    return section("result", "What was found",
                   text_element("p", "No trial passed, so there is no winner."));
  const db::TrialRow& winner = *facts.winner;
  std::string cards =
      card(time_text(shown_us(winner)) + " us",
           facts.measured()
               ? fmt::format("measured, {}{}", winner.stage == "final" ? "final" : "as screened",
                             interval_words(winner))
               : "predicted, not measured" + interval_words(winner));
  if (!facts.extras.presets.empty()) {
    const auto& [name, config] = facts.extras.presets.front();
    const db::TrialRow* baseline = facts.trial_of(config);
    const auto times =
        baseline == nullptr ? std::nullopt : comparable_times(facts, winner, *baseline);
    if (times)
      cards += card(fmt::format("{:.2f}x", times->second / times->first),
                    "the speed of the preset " + name + ", " + facts.run.time_kind);
  }
  if (const auto times = facts.plain ? times_as_fast(winner, *facts.plain) : std::nullopt)
    cards += card(fmt::format("{:.2f}x", *times),
                  "the speed of the plain kernel, " + facts.run.time_kind);
  if (facts.extras.roof)
    cards += card(tflops_text(facts.extras.roof->flop / *shown_us(winner) / 1e6),
                  "of the operations the shape needs, " + facts.run.time_kind);
  int passed = 0;
  for (const db::TrialRow& trial : facts.trials) passed += trial.outcome == Outcome::passed;
  cards += card(fmt::format("{} of {}", passed, facts.trials.size()), "trials passed");
  std::string body = element("div", cards, "cards");
  if (const std::string words = interval_rests_on(winner); !words.empty()) {
    const auto ties = predicted_ties(winner, facts.trials);
    body += text_element("p", words + (ties ? ". Other kernels: " + ties_text(*ties) : "") + ".");
  }
  if (const auto raced = facts.raced.find(winner.id); raced != facts.raced.end()) {
    std::string words = "In the finals: " + standing_text(raced->second) + ".";
    if (raced->second.row.cold)
      words +=
          fmt::format(" With a cold L2 cache {} us.", time_text(raced->second.row.cold->us.value));
    body += text_element("p", words);
  }
  body += element("p", element("code", escaped(settings_text(winner.config_json))));
  return section("result", "What was found",
                 body + preset_bars(facts, winner) + rival_bars(facts) + best_table(facts));
}

}  // namespace fa_tune::report
