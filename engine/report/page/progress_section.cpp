#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "engine/report/page/charts.hpp"
#include "engine/report/page/markup.hpp"
#include "engine/report/page/sections.hpp"
#include "engine/report/text_format.hpp"

namespace fa_tune::report {
namespace {

struct Point {
  double at = 0;  // trial, or seconds
  double us = 0;
};

struct Baseline {
  std::string name;
  double us = 0;
};

// Times spread over decades in a hard space, over percents in an easy one.
Scale time_scale(double low, double high, double begin, double end) {
  if (high / low > 4) return Scale::logarithmic(low * 0.9, high * 1.1, begin, end);
  const double room = std::max(0.03 * low, 0.05 * (high - low));
  return Scale::linear(std::max(0.0, low - room), high + room, begin, end, 5);
}

std::string chart(const std::vector<Point>& points, const std::optional<Baseline>& baseline,
                  const std::string& x_name, const std::string& y_name, const std::string& label,
                  double width) {
  double low = points.front().us;
  double high = points.front().us;
  for (const Point& point : points) {
    low = std::min(low, point.us);
    high = std::max(high, point.us);
  }
  if (baseline) high = std::max(high, baseline->us);
  Svg svg(width, width > kNarrow ? 300 : 260, label);
  const Axes axes(svg,
                  Scale::linear(0, points.back().at, Axes::kLeft, width - Axes::kRight,
                                width > kNarrow ? 8 : 4),
                  time_scale(low, high, svg.height() - Axes::kBottom, Axes::kTop), x_name, y_name);
  std::vector<std::pair<double, double>> dots;
  std::vector<std::pair<double, double>> steps;
  double best = points.front().us;
  for (const Point& point : points) {
    dots.emplace_back(axes.x(point.at), axes.y(point.us));
    if (!steps.empty() && point.us >= best) continue;
    if (!steps.empty()) steps.emplace_back(axes.x(point.at), axes.y(best));
    best = point.us;
    steps.emplace_back(axes.x(point.at), axes.y(best));
  }
  steps.emplace_back(axes.x(points.back().at), axes.y(best));
  svg.dots(dots, "dots");
  if (baseline) {
    svg.line(Axes::kLeft, axes.y(baseline->us), width - Axes::kRight, axes.y(baseline->us),
             "reference");
    svg.text(width - Axes::kRight, axes.y(baseline->us) - 5, baseline->name, "tick halo",
             Anchor::end);
  }
  svg.polyline(steps, "best");
  return svg.markup();
}

}  // namespace

std::string progress_section(const RunFacts& facts) {
  std::vector<Point> by_trial;
  std::vector<Point> by_time;
  double last_s = 0;
  for (const db::TrialRow& trial : facts.trials) {
    const auto screen = facts.screens.find(trial.id);
    if (screen == facts.screens.end()) continue;
    by_trial.push_back({static_cast<double>(trial.number), screen->second});
    if (!trial.at_ms) continue;
    last_s = std::max(last_s, *trial.at_ms / 1000);
    by_time.push_back({*trial.at_ms / 1000, screen->second});
  }
  if (by_trial.size() < 2) return "";
  std::optional<Baseline> baseline;
  if (!facts.extras.presets.empty())
    if (const db::TrialRow* trial = facts.trial_of(facts.extras.presets.front().second))
      if (const auto screen = facts.screens.find(trial->id); screen != facts.screens.end())
        baseline = Baseline{"preset " + facts.extras.presets.front().first, screen->second};
  const std::string y_name = facts.run.time_kind + " time, us";
  const auto least = std::ranges::min_element(by_trial, {}, &Point::us);
  const std::string what = fmt::format(
      "Each dot is a correct kernel as it was screened, the line is the best so far: {} at trial "
      "{} "
      "of "
      "{}.{}",
      facts.time_words(least->us), static_cast<int>(least->at), facts.trials.size(),
      facts.measured() && !facts.raced.empty()
          ? " The least of many screens is mostly the luckiest; the finals timed it again."
          : "");
  std::string body = figure(
      what, [&](double width) { return chart(by_trial, baseline, "trials", y_name, what, width); });
  // Trials of a run begun by an older program carry no time.
  if (by_time.size() == by_trial.size()) {
    std::ranges::stable_sort(by_time, {}, &Point::at);
    const auto soonest = std::ranges::min_element(by_time, {}, &Point::us);
    const bool long_run = last_s > 600;
    if (long_run)
      for (Point& point : by_time) point.at /= 60;
    const std::string when = fmt::format(
        "The same over the time of the search: its best was there after {:.0f} s of {:.0f} s.",
        soonest->at * (long_run ? 60 : 1), last_s);
    const std::string x_name =
        long_run ? "time of the search, minutes" : "time of the search, seconds";
    body += figure(
        when, [&](double width) { return chart(by_time, baseline, x_name, y_name, when, width); });
  }
  return section("progress", "Best so far", body);
}

}  // namespace fa_tune::report
