#include "engine/report/page/axis.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

namespace fa_tune {
namespace {

// The smallest of 1, 2, 5 times a power of ten that is at least `wanted`.
double round_step(double wanted) {
  const double power = std::pow(10, std::floor(std::log10(wanted)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= wanted * (1 - 1e-9)) return factor * power;
  return 10 * power;
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
  for (double i = first; i <= last; ++i) scale.ticks_.push_back(i * step);
  return scale;
}

Scale Scale::logarithmic(double low, double high, double begin, double end) {
  Scale scale(low, high > low ? high : low * 2, begin, end, true);
  // Only powers of ten where there are many of them.
  const bool sparse = std::log10(scale.high_ / scale.low_) > 2;
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

}  // namespace fa_tune
