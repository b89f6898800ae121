#include <algorithm>
#include <set>

#include <fmt/core.h>

#include "engine/report/page/charts.hpp"
#include "engine/report/page/markup.hpp"
#include "engine/report/page/sections.hpp"
#include "engine/report/text_format.hpp"

namespace fa_tune::report {
namespace {

std::optional<double> screen_of(const RunFacts& facts, std::int64_t trial) {
  const auto found = facts.screens.find(trial);
  if (found == facts.screens.end()) return std::nullopt;
  return found->second;
}

std::string tree(const RunFacts& facts, const std::string& label, double width) {
  std::set<std::int64_t> on_line;
  for (const LineageStep& step : facts.line) on_line.insert(step.trial.id);
  double low = 0;
  double high = 0;
  double last = 1;
  for (const auto& [id, parents] : facts.parents) {
    const db::TrialRow* trial = facts.trial(id);
    if (trial == nullptr) continue;
    last = std::max(last, static_cast<double>(trial->number));
    const auto us = screen_of(facts, id);
    if (!us) continue;
    low = low == 0 ? *us : std::min(low, *us);
    high = std::max(high, *us);
  }
  Svg svg(width, width > kNarrow ? 300 : 260, label);
  const double room = std::max(0.05 * low, 0.06 * (high - low));
  const Axes axes(
      svg, Scale::linear(0, last, Axes::kLeft, width - Axes::kRight, width > kNarrow ? 8 : 4),
      Scale::linear(std::max(0.0, low - room), high + room, svg.height() - Axes::kBottom,
                    Axes::kTop, 5),
      "trial", facts.run.time_kind + " time, us");
  // A parent that was never timed stands at the upper edge.
  const auto place = [&](const db::TrialRow& trial) {
    const auto us = screen_of(facts, trial.id);
    return std::pair(axes.x(static_cast<double>(trial.number)), us ? axes.y(*us) : Axes::kTop);
  };
  for (const bool main : {false, true})
    for (const auto& [id, parents] : facts.parents)
      for (const db::ParentRow& parent : parents) {
        const bool is_main =
            parent.ordinal == 0 && on_line.contains(id) && on_line.contains(parent.parent);
        const db::TrialRow* child = facts.trial(id);
        const db::TrialRow* from = facts.trial(parent.parent);
        if (is_main != main || child == nullptr || from == nullptr) continue;
        const auto [x1, y1] = place(*from);
        const auto [x2, y2] = place(*child);
        svg.line(x1, y1, x2, y2, main ? "edge main" : "edge");
      }
  for (const auto& [id, parents] : facts.parents) {
    const db::TrialRow* trial = facts.trial(id);
    if (trial == nullptr) continue;
    const auto [x, y] = place(*trial);
    const auto us = screen_of(facts, id);
    svg.circle(x, y, on_line.contains(id) ? 4.5 : 3.5, on_line.contains(id) ? "node main" : "node",
               fmt::format("trial {}: {}", trial->id, us ? facts.time_words(*us) : trial->finding));
  }
  return svg.markup();
}

std::string step_item(const RunFacts& facts, const LineageStep& step,
                      std::optional<double> parent_us) {
  const auto us = screen_of(facts, step.trial.id);
  std::string gain;
  if (us && parent_us) {
    constexpr double kShown = 0.0005;  // what rounds to 0.0% is no colour's
    const double change = *us / *parent_us - 1;
    const char* css = change < -kShown ? "gain good" : change > kShown ? "gain bad" : "gain";
    gain = text_element("span", gain_text(parent_us, us), css);
  }
  std::string item = gain + text_element("b", us ? time_text(us) + " us" : step.trial.finding) +
                     escaped(fmt::format(" · trial {}, {}", step.trial.id, step.trial.operation)) +
                     "<br/>";
  if (step.parents.empty()) {
    item += text_element("span", settings_text(step.trial.config_json), "small");
    return element("li", item);
  }
  item += escaped(genes_text(step.parents.front().genes_json));
  for (std::size_t i = 1; i < step.parents.size(); ++i) {
    const db::TrialRow* other = facts.trial(step.parents[i].parent);
    if (other != nullptr)
      item +=
          "<br/>" + text_element("span", fmt::format("other parent: trial {}", other->id), "small");
  }
  return element("li", item);
}

}  // namespace

std::string lineage_section(const RunFacts& facts) {
  if (!facts.winner) return "";
  std::string items;
  std::optional<double> parent_us;
  for (const LineageStep& step : facts.line) {
    items += step_item(facts, step, parent_us);
    parent_us = screen_of(facts, step.trial.id);
  }
  std::string body;
  if (facts.line.size() < 2) {
    body = text_element(
        "p",
        fmt::format("The winner, trial {}, has no parents: it is a preset or was drawn at random.",
                    facts.winner->id));
  } else {
    const auto first = screen_of(facts, facts.line.front().trial.id);
    const auto last = screen_of(facts, facts.line.back().trial.id);
    const std::size_t ancestors = facts.parents.size() - 1;
    const std::size_t steps = facts.line.size() - 1;
    const std::string caption = fmt::format(
        "{} of the winner by number and time; the thick line is the main one, from trial {} to {} "
        "in {} step{}{}.",
        ancestors == 1 ? "The one ancestor" : fmt::format("All {} ancestors", ancestors),
        facts.line.front().trial.id, facts.winner->id, steps, steps == 1 ? "" : "s",
        first && last ? ", gain " + gain_text(first, last) : "");
    body = figure(caption, [&](double width) { return tree(facts, caption, width); });
  }
  body += text_element("h3", "Step by step");
  body +=
      text_element("p",
                   "What each step changed, and the part of its parent's time that it saved; all "
                   "of them " +
                       facts.run.time_kind + ", as screened, at the clock of the winner's screen.",
                   "small");
  body += "<ol class=\"steps\">" + items + "</ol>";
  return section("lineage", "How the winner came about", body);
}

}  // namespace fa_tune::report
