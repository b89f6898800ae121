#pragma once

#include <string>
#include <vector>

namespace fa_tune {

struct Bar {
  std::string label;
  double value = 0;
  std::string figure;  // how the value is written
  std::string note;    // under the bar, small
  bool strong = false;
};

// Horizontal bars from 0, one below the other, each with its label above and its figure behind it.
// `label` is what is read out.
std::string bars_svg(const std::vector<Bar>& bars, const std::string& label, double width);

// A figure with its interval beside others, on a common axis around a reference.
struct Whisker {
  std::string label;
  double value = 1;
  double low = 1;  // equal to value where there is no interval
  double high = 1;
  std::string figure;
  std::string css;  // of the mark: "good", "bad", "neutral"
};

// Whiskers one below the other; `name` is the axis's, `reference` gets a line.
std::string whiskers_svg(const std::vector<Whisker>& whiskers, double reference,
                         const std::string& name, const std::string& label, double width);

}  // namespace fa_tune
