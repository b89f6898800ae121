#include <algorithm>
#include <array>
#include <map>

#include <fmt/core.h>

#include "engine/report/page/charts.hpp"
#include "engine/report/page/markup.hpp"
#include "engine/report/page/sections.hpp"

namespace fa_tune::report {
namespace {

struct Stage {
  const char* name;    // as trials have it
  const char* passed;  // what is left behind it
};

// In the order of a trial. The finals are told apart: most trials never come to them.
constexpr std::array kStages = {
    Stage{"space", "valid in the space"},
    Stage{"duplicate_source", "with a source of its own"},
    Stage{"compile", "compiled"},
    Stage{"resources", "within the device's limits"},
    Stage{"duplicate_code", "with machine code of its own"},
    Stage{"launch", "launched"},
    Stage{"gate", "passed the gate"},
    Stage{"screen", "timed"},
};

std::size_t rank_of(const std::string& stage) {
  const auto found = std::ranges::find(kStages, stage, &Stage::name);
  return static_cast<std::size_t>(found - kStages.begin());
}

// How many trials ended at each stage, by why.
using Losses = std::map<std::size_t, std::map<std::string, int>>;

std::string reasons(const std::map<std::string, int>& findings) {
  std::vector<std::pair<int, std::string>> sorted;
  for (const auto& [finding, count] : findings) sorted.emplace_back(-count, finding);
  std::ranges::sort(sorted);
  std::string text;
  for (const auto& [count, finding] : sorted)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", -count, finding);
  return text;
}

int total(const std::map<std::string, int>& findings) {
  int sum = 0;
  for (const auto& [finding, count] : findings) sum += count;
  return sum;
}

}  // namespace

std::string funnel_section(const RunFacts& facts) {
  if (facts.trials.empty()) return "";
  Losses losses;
  int finalists = 0;
  int failed_last = 0;
  for (const db::TrialRow& trial : facts.trials) {
    const bool final_ = trial.stage == "final";
    finalists += final_;
    if (trial.outcome == Outcome::passed) continue;
    failed_last += final_;
    if (!final_)
      ++losses[rank_of(trial.stage)]
              [trial.finding.empty() ? to_text(trial.outcome) : trial.finding];
  }
  const int asked = static_cast<int>(facts.trials.size());
  std::vector<Bar> bars = {
      {"asked for", static_cast<double>(asked), std::to_string(asked), "", true}};
  int left = asked;
  std::size_t worst = 0;
  int most_lost = 0;
  for (std::size_t i = 0; i < kStages.size(); ++i) {
    const auto lost = losses.find(i);
    const int count = lost == losses.end() ? 0 : total(lost->second);
    if (count == 0 && i + 1 != kStages.size()) continue;
    left -= count;
    if (count > most_lost) {
      most_lost = count;
      worst = i;
    }
    bars.push_back(
        {kStages[i].passed, static_cast<double>(left), std::to_string(left),
         count == 0 ? "" : fmt::format("{} ended here: {}", count, reasons(lost->second)), true});
  }
  if (finalists > 0)
    bars.push_back({"gated again in the finals", static_cast<double>(finalists),
                    std::to_string(finalists),
                    failed_last > 0 ? fmt::format("{} failed there", failed_last) : "", true});
  const std::string caption =
      fmt::format("Of {} configs that were tried, {} passed and have a time.", asked, left) +
      (most_lost > 0
           ? fmt::format(" The stage '{}' stopped most, {}.", kStages[worst].name, most_lost)
           : " Nothing failed.") +
      " Stages without a loss are left out.";
  return section("funnel", "Where trials ended", bars_figure(bars, caption));
}

}  // namespace fa_tune::report
