#include "engine/measure/timing.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

#include <nlohmann/json.hpp>

#include "engine/measure/statistics.hpp"

namespace fa_tune::measure {
namespace {

using Json = nlohmann::ordered_json;

double rounded(double value) { return std::round(value * 10) / 10; }

Json known(double value) { return value > 0 ? Json(rounded(value)) : Json(); }

Json clocks(const std::vector<double>& mhz) {
  if (mhz.empty()) return {};
  const auto [low, high] = std::ranges::minmax_element(mhz);
  return {{"low", rounded(*low)}, {"median", rounded(median(mhz))}, {"high", rounded(*high)}};
}

}  // namespace

void append(device::Timing& to, const device::Timing& more) {
  const std::size_t before = to.samples_us.size();
  // Clocks are known of all samples or of none, so that each stands beside its own.
  const bool clocks_known = (before == 0 || to.gpu.sm_mhz.size() == before) &&
                            more.gpu.sm_mhz.size() == more.samples_us.size();
  to.samples_us.insert(to.samples_us.end(), more.samples_us.begin(), more.samples_us.end());
  if (clocks_known)
    to.gpu.sm_mhz.insert(to.gpu.sm_mhz.end(), more.gpu.sm_mhz.begin(), more.gpu.sm_mhz.end());
  else
    to.gpu.sm_mhz.clear();
  for (const std::uint32_t sample : more.gpu.throttled)
    to.gpu.throttled.push_back(static_cast<std::uint32_t>(before) + sample);
  for (const std::string& reason : more.gpu.held_down_by)
    if (std::ranges::find(to.gpu.held_down_by, reason) == to.gpu.held_down_by.end())
      to.gpu.held_down_by.push_back(reason);
  to.gpu.watts = std::max(to.gpu.watts, more.gpu.watts);
  to.gpu.celsius = std::max(to.gpu.celsius, more.gpu.celsius);
  to.gpu.taken_again += more.gpu.taken_again;
  to.gpu.no_readings = more.gpu.no_readings;
  to.kind = more.kind;
  to.l2 = more.l2;
  to.launches_per_sample = more.launches_per_sample;
  to.restored = more.restored;
}

void drop_throttled(device::Timing& timing) {
  std::vector<double>& mhz = timing.gpu.sm_mhz;
  const bool clocks_known = mhz.size() == timing.samples_us.size();
  for (auto sample = timing.gpu.throttled.rbegin(); sample != timing.gpu.throttled.rend();
       ++sample) {
    timing.samples_us.erase(timing.samples_us.begin() + *sample);
    if (clocks_known) mhz.erase(mhz.begin() + *sample);
  }
  timing.gpu.throttled.clear();
}

std::optional<double> kilocycles_of(const device::Timing& timing) {
  const std::vector<double>& mhz = timing.gpu.sm_mhz;
  if (mhz.empty() || mhz.size() != timing.samples_us.size()) return std::nullopt;
  std::vector<double> cycles;
  std::ranges::transform(timing.samples_us, mhz, std::back_inserter(cycles), std::multiplies());
  return median(cycles) / 1000;
}

std::string detail_json_of(const device::Timing& timing) {
  if (timing.kind == device::TimeKind::predicted) return timing.detail_json;
  const device::GpuState& gpu = timing.gpu;
  const auto kilocycles = kilocycles_of(timing);
  Json detail = {
      {"samples", timing.samples_us.size()},
      {"launches_a_sample", timing.launches_per_sample},
      {"l2", to_text(timing.l2)},
      {"sm_mhz", clocks(gpu.sm_mhz)},
      {"kilocycles", kilocycles ? Json(*kilocycles) : Json()},
      {"throttled_samples", gpu.throttled.size()},
      {"taken_again", gpu.taken_again},
      {"held_down_by", gpu.held_down_by},
      {"watts", known(gpu.watts)},
      {"celsius", known(gpu.celsius)},
      {"readings", gpu.no_readings.empty() ? "available" : "not available: " + gpu.no_readings}};
  if (timing.restored) detail["restored"] = true;
  return detail.dump();
}

double mhz_of(double us, const std::string& detail_json) {
  if (detail_json.empty() || !(us > 0)) return 0;
  const Json detail = Json::parse(detail_json);
  const auto kilocycles = detail.find("kilocycles");
  if (kilocycles == detail.end() || !kilocycles->is_number()) return 0;
  return kilocycles->get<double>() * 1000 / us;
}

double us_at_clock(double us, const std::string& detail_json, double mhz) {
  const double own_mhz = mhz_of(us, detail_json);
  return own_mhz > 0 && mhz > 0 ? us * (own_mhz / mhz) : us;
}

}  // namespace fa_tune::measure
