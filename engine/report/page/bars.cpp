#include "engine/report/page/bars.hpp"

#include <algorithm>

#include "engine/report/page/axis.hpp"
#include "engine/report/page/svg.hpp"
#include "engine/report/table.hpp"

namespace fa_tune {
namespace {

constexpr double kLine = 16;  // of text
constexpr double kBar = 10;
constexpr double kBarGap = 10;

std::vector<std::string> lines_of(const std::string& text, double width) {
  if (text.empty()) return {};
  return wrap_words(text, static_cast<std::size_t>(width / text_width("x")));
}

}  // namespace

std::string bars_svg(const std::vector<Bar>& bars, const std::string& label, double width) {
  double figures = 0;
  double most = 0;
  double height = 4;
  for (const Bar& bar : bars) {
    figures = std::max(figures, text_width(bar.figure));
    most = std::max(most, bar.value);
    height += kLine * static_cast<double>(lines_of(bar.label, width).size() +
                                          lines_of(bar.note, width).size()) +
              kBar + kBarGap;
  }
  const double longest = width - figures - 10;
  Svg svg(width, height, label);
  double y = 0;
  for (const Bar& bar : bars) {
    for (const std::string& line : lines_of(bar.label, width))
      svg.text(0, y += kLine, line, "label");
    y += 5;
    const double length = most > 0 ? longest * bar.value / most : 0;
    svg.rect(0, y, longest, kBar, "track");
    svg.rect(0, y, length, kBar, bar.strong ? "bar strong" : "bar");
    svg.text(width, y + kBar - 1, bar.figure, "figure", Anchor::end);
    y += kBar;
    for (const std::string& line : lines_of(bar.note, width)) svg.text(0, y += kLine, line, "tick");
    y += kBarGap - 5;
  }
  return svg.markup();
}

std::string whiskers_svg(const std::vector<Whisker>& whiskers, double reference,
                         const std::string& name, const std::string& label, double width) {
  constexpr double kMark = 20;  // a line with a mark on it
  constexpr double kMargin = 10;
  const bool wide = width > kNarrow;
  // Where there is room labels have a column of their own, and figures too; else they stand above.
  double labels = 0;
  double figures = 0;
  double low = reference;
  double high = reference;
  for (const Whisker& each : whiskers) {
    labels = std::max(labels, text_width(each.label));
    figures = std::max(figures, text_width(each.figure));
    low = std::min(low, each.low);
    high = std::max(high, each.high);
  }
  labels = wide ? std::min(labels, 0.36 * width) : width;
  const bool beside = wide || figures < 0.4 * width;
  const double left = (wide ? labels + 8 : 0) + kMargin;
  const double right = beside ? width - figures - 14 : width - kMargin;
  double height = 6;
  for (const Whisker& each : whiskers) {
    const double text = kLine * static_cast<double>(lines_of(each.label, labels).size());
    height += wide ? std::max(text, kMark) + 4 : text + (beside ? 0 : kLine) + kMark + 4;
  }
  const Scale scale = Scale::linear(low, high, left, right, wide ? 6 : 4);
  Svg svg(width, height + 38, label);
  double free_from = 0;
  for (const double tick : scale.ticks()) {
    const double at = scale.at(tick);
    const double half = text_width(tick_text(tick)) / 2;
    svg.line(at, 4, at, height, "grid");
    if (at - half < free_from) continue;
    svg.text(at, height + 15, tick_text(tick), "tick", Anchor::middle);
    free_from = at + half + 6;
  }
  svg.line(scale.at(reference), 4, scale.at(reference), height, "reference");
  svg.text((left + right) / 2, height + 33, name, "name", Anchor::middle);
  double y = 4;
  for (const Whisker& each : whiskers) {
    const auto lines = lines_of(each.label, labels);
    const double text = kLine * static_cast<double>(lines.size());
    const double row = wide ? std::max(text, kMark) : kMark;
    double line_y = wide ? y + (row - text) / 2 - 3 : y;
    for (const std::string& line : lines) svg.text(0, line_y += kLine, line, "label halo");
    if (!wide) y = line_y;
    if (!beside) svg.text(0, y += kLine, each.figure, "figure halo");
    const double middle = y + row / 2 + 1;
    svg.line(scale.at(each.low), middle, scale.at(each.high), middle, "whisker " + each.css);
    svg.circle(scale.at(each.value), middle, 4, "mark " + each.css,
               each.label + ": " + each.figure);
    if (beside) svg.text(width, middle + 4, each.figure, "figure", Anchor::end);
    y += row + 4;
  }
  return svg.markup();
}

}  // namespace fa_tune
