#include "engine/device/emulator/prediction/kernel_features.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "engine/device/emulator/prediction/prediction.hpp"
#include "engine/device/emulator/target/residual_model.hpp"
#include "engine/device/emulator/trace/counters.hpp"
#include "tests/engine/device/emulator/support.hpp"
#include "tests/engine/device/emulator/timing/counted_run.hpp"

namespace fa_tune::test {

using namespace fa_tune::emulator;

namespace {

// Two features, two kernels: one off by what makes 0.2 alone, one far from it.
ResidualModel two_kernels() {
  ResidualModel model;
  model.scales = {{"a", 10, 2}, {"b", 0, 1}};
  model.width = 1.5;
  model.limit = 3;
  model.points = {0, 0, 3, 3};
  model.weights = {0.2F, -0.1F};
  return model;
}

double feature(const std::vector<double>& features, std::string_view name) {
  const auto names = kernel_feature_names();
  const auto at = std::ranges::find(names, name);
  REQUIRE(at != names.end());
  return features.at(static_cast<std::size_t>(at - names.begin()));
}

CountedRun products() {
  return {".reg .f32 %f<8>; .reg .b32 %r<8>;\n" +
              many("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, "
                   "{%r0,%r1,%r2,%r3}, {%r4,%r5}, {%f0,%f1,%f2,%f3};\n",
                   200),
          TensorRule::ampere, 64, 1};
}

nlohmann::json detail_in(const Prediction& prediction) {
  return nlohmann::json::parse(prediction.detail_json);
}

}  // namespace

TEST_CASE("what a kernel is off by is that of kernels alike, and nothing far from them") {
  const ResidualModel model = two_kernels();
  const auto error = [&](double a, double b) { return model.at(std::vector{a, b}).error; };
  const auto beside = [](double squared) { return std::exp(-squared / (2 * 1.5 * 1.5)); };
  CHECK(error(10, 0) == doctest::Approx(0.2 - 0.1 * beside(18)));
  // 1 deviation away.
  CHECK(error(12, 0) == doctest::Approx(0.2 * beside(1) - 0.1 * beside(4 + 9)));
  CHECK(model.at(std::vector{12.0, 0.0}).likeness == doctest::Approx(beside(1)));
  // No farther than 3 deviations.
  CHECK(error(1e9, 1e9) == error(16, 3));
  CHECK(std::abs(error(-1e9, 0)) < 0.05);
}

TEST_CASE("features are what a launch does with its time, of what it executes, in their order") {
  SimulatedLaunch simulated;
  simulated.us = 12;
  simulated.launch_us = 2;
  simulated.memory_us = 4;
  simulated.units = {{"tensor", 5}, {"issue", 2.5}};
  simulated.waits = {{"barriers", 3}, {"scheduler", 1}};
  simulated.rounds = 2.25;
  simulated.held = {2, 8, "registers"};
  simulated.counters.tensor = 100;
  simulated.counters.tensor_flop = 409'600;
  simulated.counters.warp_instructions = 1000;
  simulated.counters.alu = 250;
  simulated.counters.bulk_copies = 16;
  simulated.counters.blocks = 8;
  simulated.counters.warps = 32;
  simulated.order_ratio = 1.1;
  const std::vector<double> features = kernel_features(simulated, {.registers = 168});
  REQUIRE(features.size() == kernel_feature_names().size());
  CHECK(feature(features, "busy tensor") == doctest::Approx(0.5));
  CHECK(feature(features, "busy issue") == doctest::Approx(0.25));
  CHECK(feature(features, "busy fma") == 0);
  CHECK(feature(features, "memory alone") == doctest::Approx(0.4));
  CHECK(feature(features, "waits barriers") == doctest::Approx(0.75));
  CHECK(feature(features, "order") == doctest::Approx(std::log(1.1)));
  CHECK(feature(features, "time") == doctest::Approx(std::log(10)));
  CHECK(feature(features, "last round") == doctest::Approx(0.25));
  CHECK(feature(features, "warps an SM") == 8);
  CHECK(feature(features, "warps a block") == 4);
  CHECK(feature(features, "registers") == 168);
  CHECK(feature(features, "bulk copies a block") == doctest::Approx(std::log(3)));
  CHECK(feature(features, "flop a product") == doctest::Approx(std::log(4096)));
  CHECK(feature(features, "products a warp") == doctest::Approx(std::log(3.125)));
  CHECK(feature(features, "alu instructions") == doctest::Approx(0.25));
  CHECK(feature(features, "asynchronous waits") == 0);
  simulated.counters.tensor = 0;
  CHECK(kernel_features(simulated, {}).empty());
}

TEST_CASE(
    "a time is corrected, and its interval is that of its kind, where such a GPU has timed it") {
  const CountedRun run = products();
  emulator::DeviceProfile profile = small_profile();
  profile.ranges = {{&emulator::DeviceProfile::clock_mhz, 500, 2000}};
  const Prediction before = run.time(profile);
  CHECK(detail_in(before).at("simulated_us") == detail_in(before).at("us"));

  // One kernel, and every feature's deviation is so large that all others are like it.
  auto model = std::make_shared<ResidualModel>();
  model->gpu = "NVIDIA Test";
  model->kinds = {{"mma.sync", 40, 3, std::log(0.96), std::log(1.05), 0.04}};
  for (const std::string_view name : kernel_feature_names())
    model->scales.push_back({std::string(name), 0, 1e9});
  model->points.resize(model->scales.size());
  model->weights = {0.1F};
  profile.residuals = model;
  const Prediction after = run.time(profile);
  CHECK(after.us == doctest::Approx(before.us * std::exp(0.1)));
  CHECK(after.interval.low_us == doctest::Approx(after.us * 0.96));
  CHECK(after.interval.high_us == doctest::Approx(after.us * 1.05));
  const nlohmann::json detail = detail_in(after);
  CHECK(detail.at("simulated_us") == detail_in(before).at("us"));
  CHECK(detail.at("features").size() == kernel_feature_names().size());
  CHECK(detail.at("interval").at("apart").get<double>() == doctest::Approx(std::exp(0.04)));
  CHECK(
      detail.at("interval").at("rests_on") ==
      "90% interval: on an NVIDIA Test kernels of its kind (mma.sync; 40 of them, 3 shapes) took "
      "0.96 to 1.05 times as long as predicted, each from kernels of other draws at other shapes");
  CHECK(counters_report(after.detail_json).find("kernels like it took 1.11 times as long") !=
        std::string::npos);
  CHECK(counters_report(before.detail_json).find("kernels like it") == std::string::npos);

  // A kernel that is like none of them is as if there were none.
  model->scales.front() = {"busy fma", -10, 1};
  model->least_likeness = 0.9;
  CHECK(run.time(profile).us == before.us);
  CHECK(run.time(profile).interval.high_us == before.interval.high_us);
  model->least_likeness = 0;
  CHECK(run.time(profile).us > before.us);

  // Of other kinds none were timed.
  model->kinds.front().name = "wgmma";
  CHECK(run.time(profile).us == before.us);
  CHECK(run.time(profile).interval.high_us == before.interval.high_us);
}

}  // namespace fa_tune::test
