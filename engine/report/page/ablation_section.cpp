#include <fmt/core.h>

#include "engine/report/page/charts.hpp"
#include "engine/report/page/markup.hpp"
#include "engine/report/page/sections.hpp"

namespace fa_tune::report {
namespace {

std::string label_of(const AblationRow& row) {
  if (row.kind == AblationKind::baseline) return "all genes: the whole baseline";
  const std::string also = row.also.empty() ? "" : "; with it " + changes_text(row.also);
  const bool together = row.product && (row.interaction == "more" || row.interaction == "less");
  return changes_text(row.wanted) + also +
         (together
              ? fmt::format(" ({} than the two apart, {:.3f})", row.interaction, row.product->value)
              : "");
}

std::string figure_of(const AblationRow& row) {
  const Interval& ratio = *row.ratio;
  if (row.outcome == "same") return "1, same code";
  if (!known_end(ratio.low) || !known_end(ratio.high))
    return fmt::format("{:.3f} {}", ratio.value, row.verdict);
  return fmt::format("{:.3f} [{:.3f}, {:.3f}] {}", ratio.value, ratio.low, ratio.high, row.verdict);
}

std::string why_none(const AblationRow& row) {
  if (row.outcome == "impossible") return "impossible: " + row.because;
  return row.outcome + (row.rejection.finding.empty() ? "" : ", " + row.rejection.finding) +
         (row.rejection.message.empty() ? "" : ": " + row.rejection.message);
}

// Rows with a ratio as a chart, the others as a list.
std::string chart(const std::vector<const AblationRow*>& rows, const std::string& name,
                  const std::string& caption) {
  std::vector<Whisker> whiskers;
  std::string others;
  for (const AblationRow* row : rows) {
    if (!row->ratio) {
      others += text_element("li", label_of(*row) + ": " + why_none(*row));
      continue;
    }
    const Interval& ratio = *row->ratio;
    const char* css = row->verdict == "slower"   ? "bad"
                      : row->verdict == "faster" ? "good"
                                                 : "neutral";
    whiskers.push_back({label_of(*row), ratio.value, known_end(ratio.low).value_or(ratio.value),
                        known_end(ratio.high).value_or(ratio.value), figure_of(*row), css});
  }
  std::string body;
  if (!whiskers.empty()) body = whiskers_figure(whiskers, name, caption);
  if (!others.empty())
    body += element("details", text_element("summary", "Without a time") + element("ul", others));
  return body;
}

std::vector<const AblationRow*> rows_of(const Ablation& ablation,
                                        std::initializer_list<AblationKind> kinds) {
  std::vector<const AblationRow*> rows;
  for (const AblationRow& row : ablation.rows)
    for (const AblationKind kind : kinds)
      if (row.kind == kind) rows.push_back(&row);
  return rows;
}

}  // namespace

std::string ablation_section(const RunFacts& facts) {
  if (!facts.extras.ablation) return "";
  const Ablation& ablation = *facts.extras.ablation;
  const bool measured = ablation.time_kind == "measured";
  const std::string kind = ablation.time_kind;
  std::string body = text_element(
      "p",
      fmt::format(
          "Trial {} ({:.4g} us {} on {}) beside {}: each gene goes back to that one's value, every "
          "variant is gated, and {}.",
          ablation.trial, ablation.time_us, kind, ablation.device_name, baseline_words(ablation),
          measured
              ? "raced beside the trial; intervals hold together at 95%, less than 0.25% is a tie"
              : "its time is predicted; nothing was measured, so there are no intervals"));
  const std::string name = "time as a multiple of the trial's, " + kind;
  body += chart(rows_of(ablation, {AblationKind::baseline, AblationKind::back}), name,
                "One gene at a time. To the right of 1 the trial's value is the better one (red: "
                "giving it up costs time).");
  if (const auto pairs = rows_of(ablation, {AblationKind::pair}); !pairs.empty())
    body +=
        text_element("h3", "Two at a time") + chart(pairs, name, "The strongest genes in pairs.");
  if (const auto others = best_others(ablation); !others.empty())
    body += text_element("h3", "Genes that both have alike") +
            chart(others, name, "The best of each gene's other values.");
  if (const auto forward = rows_of(ablation, {AblationKind::forward}); !forward.empty())
    body += text_element("h3", "The other way") +
            chart(forward, "time as a multiple of the baseline's, " + kind,
                  "The baseline with one gene of the trial (green: that gene alone helps it).");
  return section("ablation", "What each gene is worth", body);
}

}  // namespace fa_tune::report
