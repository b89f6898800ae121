#include "engine/tuner/loop/breakdown.hpp"

#include <algorithm>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace fa_tune::tuner {

nlohmann::ordered_json to_json(const Breakdown& breakdown) {
  return {{"devices", breakdown.devices},
          {"jobs", breakdown.jobs},
          {"trials", breakdown.trials},
          {"gated", breakdown.gated},
          {"wall_s", breakdown.wall_s},
          {"compile_s", breakdown.compile_s},
          {"compilers_s", breakdown.compilers_s},
          {"gate_s", breakdown.gate_s},
          {"time_s", breakdown.time_s},
          {"busy_s", breakdown.busy_s},
          {"idle_s", breakdown.idle_s},
          {"idle_for_engine_s", breakdown.idle_for_engine_s},
          {"search_s", breakdown.search_s},
          {"store_s", breakdown.store_s},
          {"joules", breakdown.joules ? nlohmann::ordered_json(*breakdown.joules)
                                      : nlohmann::ordered_json()}};
}

namespace {

// Few a second have a digit more, and are not called none.
std::string trials_a_second(double rate) {
  return rate < 0.1 ? fmt::format("{:.3f}", rate) : fmt::format("{:.1f}", rate);
}

// Those of nodes come and go.
std::string compilers_of(const Breakdown& b) {
  const double average = b.compilers_s / b.wall_s;
  if (b.jobs - average < 0.05) return fmt::format("{} compiler{}", b.jobs, b.jobs == 1 ? "" : "s");
  return fmt::format("{:.1f} compilers on average, {} at most", average, b.jobs);
}

}  // namespace

std::vector<std::string> describe(const Breakdown& b) {
  if (b.gated == 0 || b.wall_s <= 0) return {};
  const auto executor = static_cast<double>(b.devices.size());
  const auto percent = [&](double seconds, double of) { return 100 * seconds / (b.wall_s * of); };
  const auto each = [&](double seconds, int trials) { return 1000 * seconds / trials; };
  const double compilers_busy = b.compilers_s > 0 ? 100 * b.compile_s / b.compilers_s : 0;
  const double other_s = std::max(0.0, b.busy_s - b.gate_s - b.time_s);
  const double for_compilers_s = std::max(0.0, b.idle_s - b.idle_for_engine_s);
  std::vector<std::string> lines = {
      fmt::format(
          "{} trials/s, {}/s of them on {}: busy {:.0f}% (a trial: gate {:.1f} "
          "ms, time {:.1f} ms, other {:.1f} ms), waits {:.0f}% for compilers, {:.0f}% "
          "for the engine",
          trials_a_second(b.trials / b.wall_s), trials_a_second(b.gated / b.wall_s),
          b.devices.size() == 1 ? "the device" : fmt::format("{} devices", b.devices.size()),
          percent(b.busy_s, executor), each(b.gate_s, b.gated), each(b.time_s, b.gated),
          each(other_s, b.gated), percent(for_compilers_s, executor),
          percent(b.idle_for_engine_s, executor)),
      fmt::format("{}: {:.1f} ms a trial, busy {:.0f}%; engine: search {:.1f} ms a trial, database "
                  "{:.1f} ms",
                  compilers_of(b), each(b.compile_s, b.trials), compilers_busy,
                  each(b.search_s, b.trials), each(b.store_s, b.trials))};
  if (b.joules)
    lines.push_back(fmt::format("energy: {:.1f} kJ in {:.1f} s, {:.0f} W on average",
                                *b.joules / 1000, b.wall_s, *b.joules / b.wall_s));
  constexpr double kMuch = 20;
  constexpr double kFull = 75;
  if (percent(for_compilers_s, executor) > kMuch && compilers_busy < kFull)
    lines.emplace_back(
        "neither devices nor compilers are full: a larger --ahead keeps more trials on their way");
  return lines;
}

}  // namespace fa_tune::tuner
