#include "engine/report/page/charts.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "engine/report/page/markup.hpp"
#include "engine/report/table.hpp"

namespace fa_tune::report {
namespace {

// The smallest of 1, 2, 5 times a power of ten that is at least `wanted`.
double round_step(double wanted) {
  const double power = std::pow(10, std::floor(std::log10(wanted)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= wanted * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

constexpr double kLine = 16;  // of text
constexpr double kBar = 10;
constexpr double kBarGap = 10;

std::vector<std::string> lines_of(const std::string& text, double width) {
  if (text.empty()) return {};
  return wrap_words(text, static_cast<std::size_t>(width / text_width("x")));
}

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

std::string whiskers_svg(const std::vector<Whisker>& whiskers, const std::string& name,
                         const std::string& label, double width) {
  constexpr double reference = 1;
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

}  // namespace

Scale::Scale(double low, double high, double begin, double end, bool logarithmic)
    : low_(low), high_(high), begin_(begin), end_(end), logarithmic_(logarithmic) {}

Scale Scale::linear(double low, double high, double begin, double end, int count) {
  if (!(high > low)) high = low + std::max(1.0, std::abs(low) * 0.1);
  const double step = round_step((high - low) / count);
  const auto first = std::floor(low / step + 1e-9);
  const auto last = std::ceil(high / step - 1e-9);
  Scale scale(first * step, last * step, begin, end, false);
  // NOLINTNEXTLINE(cert-flp30-c): whole numbers, which a double counts exactly
  for (double i = first; i <= last; ++i) scale.ticks_.push_back(i * step);
  return scale;
}

Scale Scale::logarithmic(double low, double high, double begin, double end) {
  Scale scale(low, high > low ? high : low * 2, begin, end, true);
  // Only powers of ten where there are many of them.
  const bool sparse = std::log10(scale.high_ / scale.low_) > 2;
  // NOLINTNEXTLINE(cert-flp30-c): a tick more or less at the edge is cut off below
  for (double power = std::pow(10, std::floor(std::log10(low))); power <= scale.high_; power *= 10)
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double tick = factor * power;
      if (tick >= scale.low_ * (1 - 1e-9) && tick <= scale.high_ * (1 + 1e-9) &&
          (factor == 1 || !sparse))
        scale.ticks_.push_back(tick);
    }
  return scale;
}

double Scale::at(double value) const {
  const double part = logarithmic_ ? std::log(value / low_) / std::log(high_ / low_)
                                   : (value - low_) / (high_ - low_);
  return begin_ + (end_ - begin_) * part;
}

std::string tick_text(double value) {
  return std::abs(value) < 1e-12 ? "0" : fmt::format("{:.6g}", value);
}

Axes::Axes(Svg& svg, Scale x, Scale y, const std::string& x_name, const std::string& y_name)
    : x_(std::move(x)), y_(std::move(y)) {
  const double bottom = svg.height() - kBottom;
  const double right = svg.width() - kRight;
  for (const double tick : y_.ticks()) {
    svg.line(kLeft, y_.at(tick), right, y_.at(tick), "grid");
    svg.text(kLeft - 6, y_.at(tick) + 4, tick_text(tick), "tick", Anchor::end);
  }
  double free_from = 0;  // labels that would touch the one before are left out
  for (const double tick : x_.ticks()) {
    const double at = x_.at(tick);
    const double half = text_width(tick_text(tick)) / 2;
    svg.line(at, bottom, at, bottom + 4, "axis");
    if (at - half < free_from) continue;
    svg.text(at, bottom + 17, tick_text(tick), "tick", Anchor::middle);
    free_from = at + half + 6;
  }
  svg.line(kLeft, bottom, right, bottom, "axis");
  svg.text((kLeft + right) / 2, svg.height() - 5, x_name, "name", Anchor::middle);
  svg.text_upwards(13, (kTop + bottom) / 2, y_name, "name");
}

std::string bars_figure(const std::vector<Bar>& bars, const std::string& caption) {
  return figure(caption, [&](double width) { return bars_svg(bars, caption, width); });
}

std::string whiskers_figure(const std::vector<Whisker>& whiskers, const std::string& name,
                            const std::string& caption) {
  return figure(caption,
                [&](double width) { return whiskers_svg(whiskers, name, caption, width); });
}

}  // namespace fa_tune::report
