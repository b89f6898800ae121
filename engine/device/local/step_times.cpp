#include "engine/device/local/step_times.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

#include "engine/device/emulator/prediction/recorded_errors.hpp"

namespace fa_tune::device {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLinesShown = 10;

double rounded(double us) { return std::round(us * 1000) / 1000; }

Json known(double value) { return std::isfinite(value) ? Json(value) : Json(); }
double known_or_boundless(const Json& value) {
  return value.is_number() ? value.get<double>() : std::numeric_limits<double>::infinity();
}

// Adds numbers of the same name.
void add_numbers(Json& sum, const Json& more) {
  for (const auto& [name, value] : more.items()) {
    if (!sum.contains(name))
      sum[name] = value;
    else if (value.is_number_integer() && sum[name].is_number_integer())
      sum[name] = sum[name].get<std::int64_t>() + value.get<std::int64_t>();
    else
      sum[name] = rounded(sum[name].get<double>() + value.get<double>());
  }
}

}  // namespace

StepTime time_of_move(const std::string& name, std::size_t bytes, const DeviceProfile& profile) {
  const auto moved = static_cast<double>(bytes);
  const auto l2_us = [&](const emulator::DeviceProfile& at) {
    return moved / (at.l2_bytes_per_clock_sm * std::max(at.sms, 1) * at.clock_mhz);
  };
  const auto dram_us = [&](const emulator::DeviceProfile& at) {
    return moved / (at.dram_gb_per_s * 1e3);
  };
  const bool fits = moved <= static_cast<double>(profile.l2_bytes);
  const auto busy_us = [&](const emulator::DeviceProfile& at) {
    return fits ? l2_us(at) : std::max(l2_us(at), dram_us(at));
  };
  const auto whole_us = [&](const emulator::DeviceProfile& at) {
    return at.launch_us + busy_us(at);
  };
  const Json detail = {
      {"us", rounded(whole_us(profile))},
      {"bound_by", busy_us(profile) < profile.launch_us ? "launch"
                   : fits                               ? "l2"
                                                        : "dram"},
      {"launch_us", profile.launch_us},
      {"units_us",
       {{"l2", rounded(l2_us(profile))}, {"dram", fits ? 0 : rounded(dram_us(profile))}}},
      {"bytes", bytes},
  };
  // The driver's own kernels for this have no products.
  const auto& errors = emulator::recorded_errors(emulator::KernelKind::no_tensor_cores);
  return {name, whole_us(profile),
          emulator::interval_around(whole_us(profile), whole_us(profile.fastest()),
                                    whole_us(profile.slowest()), errors),
          detail.dump()};
}

emulator::Interval90 interval_of_steps(const std::vector<StepTime>& steps) {
  emulator::Interval90 sum{0, 0};
  for (const StepTime& step : steps) {
    sum.low_us += step.interval.low_us;
    sum.high_us += step.interval.high_us;
  }
  return sum;
}

std::string detail_of_steps(const std::vector<StepTime>& steps) {
  const auto longest = std::ranges::max_element(steps, {}, [](const StepTime& step) {
    return Json::parse(step.detail_json).contains("occupancy") ? step.us : -1;
  });
  const Json most = Json::parse(longest->detail_json);
  double us = 0, simulated_us = 0, launch_us = 0, share = 1, apart = 1;
  Json units = Json::object(), waits = Json::object(), counters = Json::object();
  std::vector<Json> conflicts;
  Json list = Json::array();
  for (const StepTime& step : steps) {
    const Json detail = Json::parse(step.detail_json);
    us += step.us;
    simulated_us += detail.value("simulated_us", step.us);
    launch_us += detail.at("launch_us").get<double>();
    share = std::min(share, detail.value("simulated_share", 1.0));
    if (const auto interval = detail.find("interval"); interval != detail.end())
      apart = std::max(apart, known_or_boundless(interval->at("apart")));
    add_numbers(units, detail.at("units_us"));
    add_numbers(waits, detail.value("waits_of_a_warp_us", Json::object()));
    add_numbers(counters, detail.value("counters", Json::object()));
    for (const Json& line : detail.value("conflicts", Json::array())) conflicts.push_back(line);
    Json& one = list.emplace_back(Json{{"step", step.name}});
    one.update(detail);
  }
  std::ranges::stable_sort(conflicts, std::ranges::greater(),
                           [](const Json& line) { return line.value("excess", 0.0); });
  conflicts.resize(std::min(conflicts.size(), kLinesShown));
  Json interval = most.value("interval", Json::object());
  const emulator::Interval90 ends = interval_of_steps(steps);
  interval["low_us"] = known(ends.low_us);
  interval["high_us"] = known(ends.high_us);
  interval["apart"] = known(apart);
  interval.erase("constants_us");
  const Json detail = {
      {"us", rounded(us)},
      {"simulated_us", rounded(simulated_us)},
      {"bound_by", most.at("bound_by").get<std::string>() + " in " + longest->name},
      {"launch_us", rounded(launch_us)},
      {"occupancy", most.value("occupancy", Json::object())},
      {"units_us", units},
      {"waits_of_a_warp_us", waits},
      {"simulated_share", share},
      {"counters", counters},
      {"conflicts", conflicts},
      {"interval", interval},
      {"steps", list},
  };
  return detail.dump();
}

}  // namespace fa_tune::device
