#pragma once

#include <string>
#include <vector>

#include "engine/report/page/svg.hpp"

namespace fa_tune {

// Values to pixels, with round values to mark.
class Scale {
 public:
  // From `begin` to `end` pixels, at least from `low` to `high`, widened to about `count` round
  // ticks.
  static Scale linear(double low, double high, double begin, double end, int count);
  // The same for logarithms: `low` > 0. Ticks at 1, 2 and 5 times powers of ten.
  static Scale logarithmic(double low, double high, double begin, double end);

  double at(double value) const;
  double low() const { return low_; }
  double high() const { return high_; }
  const std::vector<double>& ticks() const { return ticks_; }

 private:
  Scale(double low, double high, double begin, double end, bool logarithmic);

  double low_;
  double high_;
  double begin_;
  double end_;
  bool logarithmic_;
  std::vector<double> ticks_;
};

std::string tick_text(double value);

// The frame of a chart: grid lines, tick labels, the names of both axes. x() and y() place values.
class Axes {
 public:
  // What is left of a drawing for the data.
  static constexpr double kLeft = 54;
  static constexpr double kRight = 14;
  static constexpr double kTop = 12;
  static constexpr double kBottom = 40;

  Axes(Svg& svg, Scale x, Scale y, const std::string& x_name, const std::string& y_name);

  double x(double value) const { return x_.at(value); }
  double y(double value) const { return y_.at(value); }

 private:
  Scale x_;
  Scale y_;
};

}  // namespace fa_tune
