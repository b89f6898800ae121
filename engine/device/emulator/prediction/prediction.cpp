// How far off a prediction may be. Where kernels like it were timed on such a GPU, by what they were
// off by when others were left to tell it (residual_model.hpp). Else from two sources:
//
// 1. Errors of the model beside an H100, by kind of kernel (recorded_errors.hpp). They hold what
//    the H100's own constants are off by.
// 2. What another GPU's constants may really be (DeviceProfile::Range). The model runs with all of
//    them at their slow ends, and at their fast ones.
//
// The interval goes from the fastest of 2 with the lowest error of 1 to the slowest with the
// highest: no less than either alone, and wider than both together if they are independent.

#include "engine/device/emulator/prediction/prediction.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/device/emulator/prediction/kernel_features.hpp"
#include "engine/device/emulator/prediction/launch_detail.hpp"
#include "engine/device/emulator/target/residual_model.hpp"
#include "engine/device/emulator/timing/timing_model.hpp"

namespace fa_tune::emulator {
namespace {

using Json = nlohmann::ordered_json;

std::string took(const char* kind, int kernels, int shapes, double low, double high) {
  return fmt::format(
      "kernels of its kind ({}; {} of them, {} shape{}) took {:.2f} to {:.2f} times as long as "
      "predicted",
      kind, kernels, shapes, shapes == 1 ? "" : "s", std::exp(low), std::exp(high));
}

std::string rests_on(const DeviceProfile& profile, KernelKind kind) {
  const RecordedErrors& errors = recorded_errors(kind);
  if (!std::isfinite(errors.low)) {
    return fmt::format("no interval: too few kernels of its kind ({}) were timed on a GPU",
                       name_of(kind));
  }
  std::string text = "90% interval: on an H100 " +
                     took(name_of(kind), errors.kernels, errors.shapes, errors.low, errors.high);
  if (profile.name == recorded_profile()) return text;
  return text + (profile.ranges.empty()
                     ? "; how far off the profile's constants are is not in it"
                     : "; and the profile's constants for " + profile.title + " have ranges");
}

Json known(double value) { return std::isfinite(value) ? Json(value) : Json(); }

// To five digits, which is more than they are good for.
Json features_json(const std::vector<double>& features) {
  Json object = Json::object();
  for (std::size_t i = 0; i < features.size(); ++i) {
    const double scale = std::pow(10, 4 - std::floor(std::log10(std::abs(features[i]) + 1e-12)));
    object[std::string(kernel_feature_names()[i])] = std::round(features[i] * scale) / scale;
  }
  return object;
}

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
    return simulate_launch(constants, resources, launch, program, record, reachable_bytes);
  };
  const SimulatedLaunch simulated = with(profile);
  const KernelKind kind = kind_of(program);
  const std::vector<double> features = kernel_features(simulated, resources);
  const ResidualModel* residuals = features.empty() ? nullptr : profile.residuals.get();
  const ResidualModel::Kind* timed =
      residuals != nullptr ? residuals->kind(name_of(kind)) : nullptr;
  const ResidualModel::Told told =
      timed != nullptr ? residuals->at(features) : ResidualModel::Told{};
  Prediction prediction;
  prediction.bound_by = simulated.bound_by;
  Json interval;
  RecordedErrors errors;
  if (timed != nullptr && told.likeness >= residuals->least_likeness) {
    // Such GPUs have timed kernels like this: what their constants are off by is in the errors.
    errors = {timed->kernels, timed->shapes, timed->low, timed->high, timed->apart};
    prediction.us = simulated.us * std::exp(told.error);
    prediction.interval = interval_around(prediction.us, prediction.us, prediction.us, errors);
    interval["rests_on"] =
        fmt::format("90% interval: on an {} {}, each from kernels of other draws at other shapes",
                    residuals->gpu,
                    took(name_of(kind), errors.kernels, errors.shapes, errors.low, errors.high));
  } else {
    errors = recorded_errors(kind);
    const bool exact = profile.ranges.empty();
    const double fastest_us = exact ? simulated.us : with(profile.fastest()).us;
    const double slowest_us = exact ? simulated.us : with(profile.slowest()).us;
    prediction.us = simulated.us;
    prediction.interval = interval_around(simulated.us, fastest_us, slowest_us, errors);
    interval["rests_on"] = rests_on(profile, kind);
    interval["constants_us"] = {fastest_us, slowest_us};
  }
  interval["low_us"] = known(prediction.interval.low_us);
  interval["high_us"] = known(prediction.interval.high_us);
  interval["kind"] = name_of(kind);
  interval["error"] = {known(std::exp(errors.low)), known(std::exp(errors.high))};
  interval["apart"] = known(std::exp(errors.apart));
  Json detail = detail_of(simulated, program, record);
  detail["us"] = rounded_us(prediction.us);
  detail["simulated_us"] = rounded_us(simulated.us);
  detail["features"] = features_json(features);
  detail["interval"] = std::move(interval);
  prediction.detail_json = detail.dump();
  return prediction;
}

}  // namespace fa_tune::emulator
