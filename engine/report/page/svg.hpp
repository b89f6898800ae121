#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fa_tune::report {

enum class Anchor { start, middle, end };

// Pixels that a text of the page's charts takes, or a little more: its font is not known here.
double text_width(std::string_view text);

// A drawing in pixels, y downwards. Colours are classes of the page's style sheet, so that light
// and dark are one drawing. Texts are escaped.
class Svg {
 public:
  // `label` is what is read out instead of the drawing.
  Svg(double width, double height, std::string label);

  double width() const { return width_; }
  double height() const { return height_; }

  void line(double x1, double y1, double x2, double y2, std::string_view css);
  void rect(double x, double y, double width, double height, std::string_view css);
  // `tip` shows under a mouse.
  void circle(double x, double y, double radius, std::string_view css, std::string_view tip = {});
  void text(double x, double y, std::string_view text, std::string_view css,
            Anchor anchor = Anchor::start);
  // Upwards along a vertical axis, centred at (x, y).
  void text_upwards(double x, double y, std::string_view text, std::string_view css);
  void polyline(const std::vector<std::pair<double, double>>& points, std::string_view css);
  // A round dot a point, as wide as the class's stroke; those on the same pixel are drawn once.
  void dots(const std::vector<std::pair<double, double>>& points, std::string_view css);

  std::string markup() const;

 private:
  double width_;
  double height_;
  std::string label_;
  std::string content_;
};

}  // namespace fa_tune::report
