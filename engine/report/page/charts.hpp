#pragma once

#include <string>
#include <vector>

#include "engine/report/page/svg.hpp"

namespace fa_tune::report {

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

struct Bar {
  std::string label;
  double value = 0;
  std::string figure;  // how the value is written
  std::string note;    // under the bar, small
  bool strong = false;
};

// Horizontal bars from 0, one below the other, each with its label above and its figure behind it.
std::string bars_figure(const std::vector<Bar>& bars, const std::string& caption);

// A figure with its interval beside others, on a common axis.
struct Whisker {
  std::string label;
  double value = 1;
  double low = 1;  // equal to value where there is no interval
  double high = 1;
  std::string figure;
  std::string css;  // of the mark: "good", "bad", "neutral"
};

// Whiskers one below the other, around 1; `name` is the axis's.
std::string whiskers_figure(const std::vector<Whisker>& whiskers, const std::string& name,
                            const std::string& caption);

}  // namespace fa_tune::report
