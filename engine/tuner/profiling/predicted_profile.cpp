#include "engine/tuner/profiling/predicted_profile.hpp"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "engine/util/error.hpp"

namespace fa_tune::tuner {
namespace {

using Json = nlohmann::ordered_json;

struct UnitName {
  const char* unit;  // as the model calls it
  Bottleneck resource;
};

constexpr std::array kModelUnits = {
    UnitName{"fma", Bottleneck::fma},       UnitName{"alu", Bottleneck::alu},
    UnitName{"half", Bottleneck::half},     UnitName{"special", Bottleneck::special},
    UnitName{"tensor", Bottleneck::tensor}, UnitName{"shared memory", Bottleneck::shared_memory},
    UnitName{"issue", Bottleneck::issue},   UnitName{"l2", Bottleneck::l2},
    UnitName{"dram", Bottleneck::dram},
};

struct WaitMeaning {
  const char* wait;
  const char* meaning;
};

constexpr std::array kModelWaits = {
    WaitMeaning{"arithmetic", "results of arithmetic"},
    WaitMeaning{"special", "results of the special-function unit"},
    WaitMeaning{"tensor cores", "results of the tensor cores"},
    WaitMeaning{"shared memory", "results from shared memory or another lane"},
    WaitMeaning{"global memory", "results from global memory"},
    WaitMeaning{"async copies", "what they bring from global memory"},
    WaitMeaning{"barriers", "other warps"},
    WaitMeaning{"busy unit", "a unit that other warps keep busy"},
    WaitMeaning{"scheduler", "the scheduler, which another warp has"},
};

std::string meaning_of(const std::string& wait) {
  const auto found =
      std::ranges::find_if(kModelWaits, [&](const WaitMeaning& each) { return each.wait == wait; });
  return found == kModelWaits.end() ? "" : found->meaning;
}

void add_stalls(const Json& waits, report::Profile& profile) {
  double all = 0;
  for (const auto& [wait, us] : waits.items()) all += us.get<double>();
  if (all <= 0) return;
  for (const auto& [wait, us] : waits.items())
    profile.stalls.push_back({wait, meaning_of(wait), 100 * us.get<double>() / all});
}

void add_units(const Json& detail, report::Profile& profile) {
  const double launch_us = detail.at("launch_us").get<double>();
  const double running_us = profile.time_us - launch_us;
  profile.launch = 100 * launch_us / profile.time_us;
  for (const auto& [unit, us] : detail.at("units_us").items()) {
    profile.counters.emplace_back("us at work: " + unit, us.get<double>());
    const auto known = std::ranges::find_if(
        kModelUnits, [&name = unit](const UnitName& each) { return each.unit == name; });
    if (known != kModelUnits.end() && running_us > 0)
      profile.shares.push_back({known->resource, 100 * us.get<double>() / running_us});
  }
}

void fill(const Json& detail, const device::DeviceProfile& model, report::Profile& profile) {
  add_units(detail, profile);
  const Json& counters = detail.at("counters");
  const Json& held = detail.at("occupancy");
  // The busiest SM is at work all the time, the others as long as they have blocks.
  const double places = held.at("blocks_on_busiest_sm").get<double>() * std::max(model.sms, 1);
  if (places > 0)
    profile.sms_active = std::min(100.0, 100 * counters.at("blocks").get<double>() / places);
  const double warps = std::max(model.max_threads_per_sm / 32, 1);
  profile.occupancy_possible = 100 * held.at("warps_per_sm").get<double>() / warps;
  profile.occupancy_limited_by = held.at("limited_by").get<std::string>();
  if (profile.occupancy_limited_by == "grid") profile.occupancy_limited_by = "the size of the grid";
  const double wavefronts = counters.at("shared_wavefronts").get<double>();
  if (wavefronts > 0)
    profile.bank_conflicts =
        100 * (1 - counters.at("shared_wavefronts_ideal").get<double>() / wavefronts);
  add_stalls(detail.at("waits_of_a_warp_us"), profile);
  for (const auto& [name, value] : counters.items())
    profile.counters.emplace_back(name, value.get<double>());
}

// Each step, and of all what does not add up as counters do.
void add_steps(const Json& list, const device::DeviceProfile& model, report::Profile& profile) {
  double active = 0, us = 0;
  for (const Json& detail : list) {
    report::Profile step = profile;
    step.steps = {};
    step.shares = {};
    step.stalls = {};
    step.counters = {};
    step.occupancy_limited_by = {};
    step.launch = step.sms_active = step.bank_conflicts = step.occupancy_possible = {};
    step.time_us = detail.at("us").get<double>();
    if (detail.contains("occupancy"))
      fill(detail, model, step);
    else
      add_units(detail, step);
    report::find_limit(step);
    active += step.sms_active.value_or(100) * step.time_us;
    us += step.time_us;
    profile.steps.push_back({detail.at("step").get<std::string>(), std::move(step)});
  }
  if (us > 0) profile.sms_active = active / us;
}

}  // namespace

report::Profile predicted_profile(const device::Timing& timing, const device::DeviceInfo& device,
                                  const device::DeviceProfile& model) {
  report::Profile profile;
  profile.source = "emulator";
  profile.version = model.name;
  profile.device = device.id;
  profile.device_name = device.name;
  profile.time_kind = to_text(timing.kind);
  profile.time_us = timing.samples_us.at(0);
  try {
    const Json detail = Json::parse(timing.detail_json);
    fill(detail, model, profile);
    if (detail.contains("steps")) add_steps(detail.at("steps"), model, profile);
  } catch (const Json::exception& error) {
    throw MachineError(device.id + ": what its model tells cannot be read: " + error.what());
  }
  report::find_limit(profile);
  return profile;
}

}  // namespace fa_tune::tuner
