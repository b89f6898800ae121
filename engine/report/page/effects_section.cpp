#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "engine/report/insights.hpp"
#include "engine/report/page/charts.hpp"
#include "engine/report/page/markup.hpp"
#include "engine/report/page/sections.hpp"

namespace fa_tune::report {
namespace {

constexpr std::size_t kMostEffects = 14;
constexpr std::size_t kMostLines = 10;

std::string percent(double ratio) { return fmt::format("{:+.1f}%", 100 * (ratio - 1)); }

Whisker whisker_of(const search::Effect& effect) {
  const double low = std::exp(effect.low);
  const double high = std::exp(effect.high);
  return {
      fmt::format("{}: {} instead of {}", effect.gene, fa_tune::to_text(effect.value),
                  fa_tune::to_text(effect.against)),
      std::exp(effect.log_ratio),
      low,
      high,
      fmt::format("{} [{}, {}]", percent(std::exp(effect.log_ratio)), percent(low), percent(high)),
      effect.seen ? "good" : "neutral"};
}

std::string more(const std::vector<db::InsightRow>& rows, const std::string& kind,
                 const std::string& title) {
  std::string items;
  std::size_t shown = 0;
  std::size_t all = 0;
  for (const db::InsightRow& row : rows) {
    if (row.kind != kind) continue;
    if (++all <= kMostLines) {
      items += text_element("li", row.text);
      ++shown;
    }
  }
  if (all == 0) return "";
  const std::string count = shown < all ? fmt::format(" ({} of {})", shown, all) : "";
  return element("details", text_element("summary", title + count) + element("ul", items));
}

}  // namespace

std::string effects_section(const RunFacts& facts, const search::Insights& insights) {
  const auto effects = insights.effects();
  const auto rows = insight_rows(insights, facts.run.time_kind);
  std::string body;
  if (effects.empty()) {
    body = text_element(
        "p", "Too few trials differ little enough to tell one gene's effect from another's.");
  } else {
    std::vector<Whisker> whiskers;
    double seen = 0;
    for (const search::Effect& effect : effects) {
      seen += effect.seen;
      if (whiskers.size() < kMostEffects) whiskers.push_back(whisker_of(effect));
    }
    const std::string caption = fmt::format(
        "What a value does to the {} time instead of another, over the configs that were tried, "
        "with 95% "
        "intervals. {:.0f} of {} comparisons stand out from chance (green){}.",
        facts.run.time_kind, seen, effects.size(),
        whiskers.size() < effects.size() ? fmt::format("; the first {} are shown", whiskers.size())
                                         : "");
    body = whiskers_figure(
        whiskers, "time as a multiple of the other value's, " + facts.run.time_kind, caption);
  }
  body += more(rows, "interaction", "Values that act together") +
          more(rows, "failure", "Values that fail") + more(rows, "operator", "Operators");
  return section("effects", "What genes do", body);
}

}  // namespace fa_tune::report
