// What beginning and ending a sample adds to a launch's time, by the number of launches in it: why
// a screen's sample lasts 200 us and a final's a millisecond.
//
//   bench_sample_length cuda:0 [SPACE] >OUT.json
//
// SPACE: h100_short.yaml if not given; each of its presets is timed at each length, in turns.

#include <ctime>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/core.h>

#include "engine/device/local/open.hpp"
#include "engine/measure/statistics.hpp"
#include "engine/util/environment.hpp"
#include "engine/util/error.hpp"
#include "tools/bench/emulator/clock/clock.hpp"

using namespace fa_tune;
using namespace fa_tune::bench;

namespace {

constexpr int kRounds = 8;
constexpr int kSamples = 15;  // in a round

// Microseconds a launch.
std::vector<double> samples(device::Device& device, const device::Launch& launch, int launches) {
  const auto timing = device.time(launch, {launches, kSamples, 2});
  if (!timing) throw UserError(timing.error().message);
  return timing->samples_us;
}

Json measure_lengths(device::Device& device, const device::Launch& launch) {
  std::map<int, std::vector<double>> taken;
  for (int round = 0; round < kRounds; ++round)
    for (const int launches : {15, 30, 60, 125, 250, 500, 1000})
      for (const double us : samples(device, launch, launches)) taken[launches].push_back(us);
  Json lengths = Json::array();
  for (const auto& [launches, us] : taken) {
    const Interval time = measure::estimate(us);
    lengths.push_back({{"launches", launches},
                       {"us", time.value},
                       {"interval_us", {time.low, time.high}},
                       {"sample_us", launches * time.value}});
  }
  const auto& few = lengths.front();
  const auto& many = lengths.back();
  // A sample is ends + launches * us.
  const double us = (many["sample_us"].get<double>() - few["sample_us"].get<double>()) /
                    (many["launches"].get<int>() - few["launches"].get<int>());
  return {{"us", us},
          {"ends_us", few["sample_us"].get<double>() - few["launches"].get<int>() * us},
          {"lengths", std::move(lengths)}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: bench_sample_length DEVICE [SPACE]\n");
    return 2;
  }
  try {
    const std::string space = argc > 2 ? argv[2] : "h100_short.yaml";
    const tuner::TuningTask task = ShapeName{"shape.B=1"}.open(space);
    const auto device = device::open_device(argv[1], task.target, find_root());
    const auto compiler = compiler_with("");
    Workplace workplace(task, *device);
    Json result = {{"device", device->info().name},
                   {"driver", device->info().driver},
                   {"compiler", compiler->version()},
                   {"date", fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)))},
                   {"space", space},
                   {"samples", kRounds * kSamples}};
    for (const space::Preset& preset : task.space.parts().presets) {
      const auto compiled = compiler->compile(request_of(task, preset.config, device->info()));
      if (!compiled) throw UserError(preset.name + ": " + compiled.error().message);
      const auto kernel = device->load(compiled->image);
      if (!kernel) throw UserError(preset.name + ": " + kernel.error().message);
      result["presets"][preset.name] =
          measure_lengths(*device, workplace.launch(preset.config, *kernel));
      device->unload(*kernel);
    }
    fmt::print("{}\n", result.dump(1));
    return 0;
  } catch (const UserError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
