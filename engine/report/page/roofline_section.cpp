#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "engine/report/page/charts.hpp"
#include "engine/report/page/markup.hpp"
#include "engine/report/page/sections.hpp"
#include "engine/report/rows.hpp"
#include "engine/report/text_format.hpp"

namespace fa_tune::report {
namespace {

struct Entry {
  std::string name;
  double tflops;
  bool own;
};

std::vector<Entry> entries_of(const RunFacts& facts, const RoofFacts& roof) {
  std::vector<Entry> entries = {{"winner", roof.flop / *shown_us(*facts.winner) / 1e6, true}};
  for (const auto& [name, config] : facts.extras.presets) {
    const db::TrialRow* trial = facts.trial_of(config);
    if (trial == nullptr || trial->id == facts.winner->id) continue;
    if (const auto times = comparable_times(facts, *facts.winner, *trial))
      entries.push_back({name, entries.front().tflops * times->first / times->second, false});
  }
  std::ranges::stable_sort(entries, std::ranges::greater{}, &Entry::tflops);
  return entries;
}

// A ceiling of bandwidth until it meets that of arithmetic.
void slope(Svg& svg, const Scale& x, const Scale& y, double bytes_per_us, double tflops,
           const std::string& name) {
  const auto at = [&](double intensity) {
    return std::min(tflops, intensity * bytes_per_us / 1e6);
  };
  const double from = std::max(x.low(), y.low() * 1e6 / bytes_per_us);
  const double knee = std::min(x.high(), tflops * 1e6 / bytes_per_us);
  if (!(from < knee)) return;
  svg.polyline({{x.at(from), y.at(at(from))}, {x.at(knee), y.at(at(knee))}}, "ceiling");
  // Left of the slope's middle, or under it where the frame leaves no room.
  const double middle = std::sqrt(from * knee);
  const double px = x.at(middle);
  const double py = y.at(at(middle));
  if (px - 8 - text_width(name) > Axes::kLeft)
    svg.text(px - 8, py - 4, name, "tick halo", Anchor::end);
  else
    svg.text(px + 10, py + 12, name, "tick halo");
}

std::string chart(const RoofFacts& roof, const std::vector<Entry>& entries,
                  const std::string& label, double width) {
  const double intensity = roof.flop / roof.bytes;
  const double tflops = roof.flop_per_us / 1e6;
  const double knee = roof.flop_per_us / roof.dram_bytes_per_us;
  Svg svg(width, 320, label);
  const Scale x = Scale::logarithmic(std::min(intensity, knee) / 30, std::max(intensity, knee) * 12,
                                     Axes::kLeft, width - Axes::kRight);
  const Scale y = Scale::logarithmic(entries.back().tflops / 3, tflops * 1.6,
                                     svg.height() - Axes::kBottom, Axes::kTop);
  const Axes axes(svg, x, y, "operations a compulsory byte, FLOP/B", "TFLOP/s");
  slope(svg, x, y, roof.dram_bytes_per_us, tflops,
        fmt::format("DRAM {:.3g} TB/s", roof.dram_bytes_per_us / 1e6));
  slope(svg, x, y, roof.l2_bytes_per_us, tflops,
        fmt::format("L2 {:.3g} TB/s", roof.l2_bytes_per_us / 1e6));
  const double flat_from =
      std::max(x.low(), roof.flop_per_us / std::max(roof.l2_bytes_per_us, roof.dram_bytes_per_us));
  svg.line(x.at(flat_from), y.at(tflops), width - Axes::kRight, y.at(tflops), "ceiling");
  svg.text(width - Axes::kRight, y.at(tflops) + 14,
           fmt::format("tensor cores {:.4g} TFLOP/s", tflops), "tick halo", Anchor::end);
  double free_from = 0;  // names keep a line apart
  for (const Entry& entry : entries) {
    const double mark = y.at(entry.tflops);
    const double line = std::max(mark + 4, free_from);
    svg.circle(x.at(intensity), mark, entry.own ? 5 : 4, entry.own ? "mark own" : "mark");
    svg.text(x.at(intensity) + 10, line, fmt::format("{} {:.3g}", entry.name, entry.tflops),
             entry.own ? "strong halo" : "halo");
    free_from = line + 15;
  }
  return svg.markup();
}

}  // namespace

std::string roofline_section(const RunFacts& facts) {
  if (!facts.winner || !facts.extras.roof) return "";
  const RoofFacts& roof = *facts.extras.roof;
  const double floor_us = std::max(roof.flop / roof.flop_per_us, roof.bytes / roof.l2_bytes_per_us);
  const bool computing = roof.flop / roof.flop_per_us >= roof.bytes / roof.l2_bytes_per_us;
  const auto entries = entries_of(facts, roof);
  const std::string caption = fmt::format(
      "The shape needs {:.3g} GFLOP and {:.3g} MB at least; the winner, {}, reaches {:.2g}% of "
      "what {} with a warm cache ({}). Kernels stand at the operations they must do, whatever more "
      "they do.",
      roof.flop / 1e9, roof.bytes / 1e6, facts.time_words(*shown_us(*facts.winner)),
      100 * floor_us / *shown_us(*facts.winner), computing ? "the tensor cores allow" : "L2 allows",
      roof.source);
  return section("roofline", "Under the roofline", figure(caption, [&](double width) {
                   return chart(roof, entries, caption, width);
                 }));
}

}  // namespace fa_tune::report
