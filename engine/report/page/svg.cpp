#include "engine/report/page/svg.hpp"

#include <cmath>
#include <set>

#include <fmt/core.h>

#include "engine/report/page/markup.hpp"
#include "engine/report/table.hpp"

namespace fa_tune::report {
namespace {

// A tenth of a pixel is finer than anybody sees, and the same text everywhere.
std::string number(double value) {
  const double rounded = std::round(value * 10) / 10;
  return fmt::format("{:g}", rounded == 0 ? 0 : rounded);
}

const char* name_of(Anchor anchor) {
  return anchor == Anchor::middle ? "middle" : anchor == Anchor::end ? "end" : "start";
}

}  // namespace

double text_width(std::string_view text) {
  constexpr double kLetter = 6.6;  // at 12 pixels, in sans-serifs on the wide side
  return kLetter * static_cast<double>(display_width(text));
}

Svg::Svg(double width, double height, std::string label)
    : width_(width), height_(height), label_(std::move(label)) {}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view css) {
  content_ += fmt::format(R"(<line x1="{}" y1="{}" x2="{}" y2="{}" class="{}"/>)", number(x1),
                          number(y1), number(x2), number(y2), css);
}

void Svg::rect(double x, double y, double width, double height, std::string_view css) {
  content_ += fmt::format(R"(<rect x="{}" y="{}" width="{}" height="{}" class="{}"/>)", number(x),
                          number(y), number(width), number(height), css);
}

void Svg::circle(double x, double y, double radius, std::string_view css, std::string_view tip) {
  content_ += fmt::format(R"(<circle cx="{}" cy="{}" r="{}" class="{}")", number(x), number(y),
                          number(radius), css);
  content_ += tip.empty() ? "/>" : ">" + text_element("title", tip) + "</circle>";
}

void Svg::text(double x, double y, std::string_view text, std::string_view css, Anchor anchor) {
  content_ += fmt::format(R"(<text x="{}" y="{}" class="{}" text-anchor="{}">{}</text>)", number(x),
                          number(y), css, name_of(anchor), escaped(text));
}

void Svg::text_upwards(double x, double y, std::string_view text, std::string_view css) {
  content_ += fmt::format(
      R"~(<text transform="translate({},{}) rotate(-90)" class="{}" text-anchor="middle">{}</text>)~",
      number(x), number(y), css, escaped(text));
}

void Svg::polyline(const std::vector<std::pair<double, double>>& points, std::string_view css) {
  std::string list;
  for (const auto& [x, y] : points) list += (list.empty() ? "" : " ") + number(x) + "," + number(y);
  content_ += fmt::format(R"(<polyline points="{}" class="{}"/>)", list, css);
}

void Svg::dots(const std::vector<std::pair<double, double>>& points, std::string_view css) {
  std::set<std::pair<long, long>> drawn;
  std::string path;
  for (const auto& [x, y] : points)
    if (drawn.emplace(std::lround(x), std::lround(y)).second)
      path += fmt::format("M{} {}h0", std::lround(x), std::lround(y));
  if (!path.empty()) content_ += fmt::format(R"(<path d="{}" class="{}"/>)", path, css);
}

std::string Svg::markup() const {
  return fmt::format(R"(<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{}" )"
                     R"(viewBox="0 0 {} {}" width="{}" height="{}">{}</svg>)",
                     escaped(label_), number(width_), number(height_), number(width_),
                     number(height_), content_);
}

}  // namespace fa_tune::report
