#include "engine/device/emulator/prediction/prediction.hpp"

#include <cmath>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "engine/device/emulator/prediction/recorded_errors.hpp"
#include "engine/device/emulator/trace/counters.hpp"
#include "tests/engine/device/emulator/support.hpp"
#include "tests/engine/device/emulator/timing/counted_run.hpp"

namespace fa_tune::test {

using namespace fa_tune::emulator;

namespace {

CountedRun chain_of_fma() {
  std::string body = ".reg .f32 %f<4>;\n";
  for (int i = 0; i < 1000; ++i) body += "fma.rn.f32 %f1, %f1, %f2, %f3;\n";
  return {body, TensorRule::ampere, 32, 1};
}

Prediction predicted(const CountedRun& run, const emulator::DeviceProfile& profile) {
  return predict(profile, {}, run.launch, run.program, run.record, 1 << 20);
}

nlohmann::json interval_in(const Prediction& prediction) {
  return nlohmann::json::parse(prediction.detail_json).at("interval");
}

}  // namespace

TEST_CASE("an interval spans both ends of the constants and of the errors") {
  const RecordedErrors errors{100, 2, std::log(0.9), std::log(1.25), 0.1};
  const Interval90 both = interval_around(10, 8, 14, errors);
  CHECK(both.low_us == doctest::Approx(8 * 0.9));
  CHECK(both.high_us == doctest::Approx(14 * 1.25));
  // A slower clock may, rarely, make a kernel faster.
  const Interval90 crossed = interval_around(10, 11, 9, errors);
  CHECK(crossed.low_us == doctest::Approx(9 * 0.9));
  CHECK(crossed.high_us == doctest::Approx(11 * 1.25));
}

TEST_CASE("a kind that is known to come out too long has its interval below the prediction") {
  const RecordedErrors errors{15, 1, std::log(0.55), std::log(0.9), 0.1};
  const Interval90 below = interval_around(10, 10, 10, errors);
  CHECK(below.low_us == doctest::Approx(5.5));
  CHECK(below.high_us == doctest::Approx(9));
}

TEST_CASE("without recorded kernels there is no interval") {
  const Interval90 none = interval_around(10, 8, 14, RecordedErrors{});
  CHECK(std::isinf(none.low_us));
  CHECK(std::isinf(none.high_us));
}

TEST_CASE("the model runs at both ends of a profile's ranges") {
  const CountedRun run = chain_of_fma();
  emulator::DeviceProfile profile = small_profile();
  const Prediction exact = predicted(run, profile);
  CHECK(interval_in(exact).at("constants_us") == nlohmann::json{exact.us, exact.us});
  profile.ranges = {{&emulator::DeviceProfile::clock_mhz, 500, 2000},
                    {&emulator::DeviceProfile::launch_us, 3, 0.5}};
  const Prediction ranged = predicted(run, profile);
  CHECK(ranged.us == exact.us);
  // What is not the launch, of 1 us, goes with the clock of 1000 MHz.
  const double running = exact.us - 1;
  const auto ends = interval_in(ranged).at("constants_us").get<std::vector<double>>();
  CHECK(ends.at(0) == doctest::Approx(0.5 + running / 2));
  CHECK(ends.at(1) == doctest::Approx(3 + running * 2));
  const RecordedErrors& errors = recorded_errors(KernelKind::no_tensor_cores);
  CHECK(ranged.interval.low_us == doctest::Approx(ends.at(0) * std::exp(errors.low)));
  CHECK(ranged.interval.high_us == doctest::Approx(ends.at(1) * std::exp(errors.high)));
  CHECK(interval_in(ranged).at("high_us").get<double>() == ranged.interval.high_us);
}

TEST_CASE("one sentence says what an interval rests on") {
  const CountedRun run = chain_of_fma();
  emulator::DeviceProfile profile = small_profile();
  const auto words = [&] {
    return interval_in(predicted(run, profile)).at("rests_on").get<std::string>();
  };
  CHECK(words().starts_with("90% interval: on an H100 kernels of its kind (no tensor cores; "));
  CHECK(words().ends_with("; how far off the profile's constants are is not in it"));
  profile.ranges = {{&emulator::DeviceProfile::clock_mhz, 500, 2000}};
  CHECK(words().ends_with("; and the profile's constants for test GPU have ranges"));
  profile.name = recorded_profile();
  CHECK(words().ends_with(" times as long as predicted"));
}

TEST_CASE("a report of counters begins with the interval") {
  const Prediction prediction = predicted(chain_of_fma(), small_profile());
  const std::string report = counters_report(prediction.detail_json);
  const auto at = report.find("interval: ");
  REQUIRE(at != std::string::npos);
  CHECK(at < report.find("predicted "));
  std::size_t longest = 0;
  for (std::size_t begin = 0; begin < report.size();) {
    const std::size_t end = report.find('\n', begin);
    longest = std::max(longest, end - begin);
    begin = end + 1;
  }
  CHECK(longest <= 100);
}

}  // namespace fa_tune::test
