// How far off a prediction may be, from two sources:
//
// 1. Errors of the model beside an H100, by kind of kernel (recorded_errors.hpp). They hold what
//    the H100's own constants are off by.
// 2. What another GPU's constants may really be (DeviceProfile::Range). The model runs with all of
//    them at their slow ends, and at their fast ones.
//
// The interval goes from the fastest of 2 with the lowest error of 1 to the slowest with the
// highest: no less than either alone, and wider than both together if they are independent.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/device/emulator/timing/recorded_errors.hpp"
#include "engine/device/emulator/timing/timing_model.hpp"

namespace fa_tune::emulator {
namespace {

using Json = nlohmann::ordered_json;

std::string rests_on(const DeviceProfile& profile, KernelKind kind) {
  const RecordedErrors& errors = recorded_errors(kind);
  if (!std::isfinite(errors.low)) {
    return fmt::format("no interval: too few kernels of its kind ({}) were timed on a GPU",
                       name_of(kind));
  }
  std::string text = fmt::format(
      "90% interval: on an H100 kernels of its kind ({}; {} of them, {} shape{}) took {:.2f} to "
      "{:.2f} times as long as predicted",
      name_of(kind), errors.kernels, errors.shapes, errors.shapes == 1 ? "" : "s",
      std::exp(errors.low), std::exp(errors.high));
  if (profile.name == recorded_profile()) return text;
  return text + (profile.ranges.empty()
                     ? "; how far off the profile's constants are is not in it"
                     : "; and the profile's constants for " + profile.title + " have ranges");
}

Json known(double value) { return std::isfinite(value) ? Json(value) : Json(); }

}  // namespace

Interval90 interval_around(double us, double fastest_us, double slowest_us,
                           const RecordedErrors& errors) {
  if (!std::isfinite(errors.low) || !std::isfinite(errors.high)) return {};
  const double fast = std::min({us, fastest_us, slowest_us});
  const double slow = std::max({us, fastest_us, slowest_us});
  return {fast * std::exp(errors.low), slow * std::exp(errors.high)};
}

Prediction predict(const DeviceProfile& profile, const KernelResources& resources,
                   const LaunchConfig& launch, const Program& program, const Record& record,
                   double reachable_bytes) {
  const auto with = [&](const DeviceProfile& constants) {
    return predict_time(constants, resources, launch, program, record, reachable_bytes);
  };
  Prediction prediction = with(profile);
  const bool exact = profile.ranges.empty();
  const double fastest_us = exact ? prediction.us : with(profile.fastest()).us;
  const double slowest_us = exact ? prediction.us : with(profile.slowest()).us;
  const KernelKind kind = kind_of(program);
  const RecordedErrors& errors = recorded_errors(kind);
  prediction.interval = interval_around(prediction.us, fastest_us, slowest_us, errors);
  Json detail = Json::parse(prediction.detail_json);
  detail["interval"] = {{"low_us", known(prediction.interval.low_us)},
                        {"high_us", known(prediction.interval.high_us)},
                        {"rests_on", rests_on(profile, kind)},
                        {"constants_us", {fastest_us, slowest_us}},
                        {"kind", name_of(kind)},
                        {"error", {known(std::exp(errors.low)), known(std::exp(errors.high))}},
                        {"apart", known(std::exp(errors.apart))}};
  prediction.detail_json = detail.dump();
  return prediction;
}

}  // namespace fa_tune::emulator
