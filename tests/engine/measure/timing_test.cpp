#include "engine/measure/timing.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::measure;

namespace {

Timing timing(std::vector<double> us, std::vector<double> mhz,
              std::vector<std::uint32_t> throttled = {}) {
  Timing made;
  made.samples_us = std::move(us);
  made.launches_per_sample = 20;
  made.gpu.sm_mhz = std::move(mhz);
  made.gpu.throttled = std::move(throttled);
  return made;
}

}  // namespace

TEST_CASE("timings are joined sample by sample") {
  Timing all;
  append(all, timing({1, 2}, {1700, 1200}, {1}));
  Timing more = timing({3, 4, 5}, {1700, 1710, 1100}, {2});
  more.gpu.held_down_by = {"power limit"};
  more.gpu.watts = 300;
  append(all, more);
  append(all, more);
  CHECK(all.samples_us == std::vector<double>{1, 2, 3, 4, 5, 3, 4, 5});
  CHECK(all.gpu.sm_mhz.size() == 8);
  CHECK(all.gpu.throttled == std::vector<std::uint32_t>{1, 4, 7});
  CHECK(all.gpu.held_down_by == std::vector<std::string>{"power limit"});
  CHECK(all.gpu.watts == 300);
  drop_throttled(all);
  CHECK(all.samples_us == std::vector<double>{1, 3, 4, 3, 4});
  CHECK(all.gpu.sm_mhz == std::vector<double>{1700, 1700, 1710, 1700, 1710});
  CHECK(all.gpu.throttled.empty());
}

TEST_CASE("clocks that are not known of all samples are known of none") {
  Timing all;
  append(all, timing({1, 2}, {1700, 1700}));
  append(all, timing({3}, {}));
  append(all, timing({4}, {1700}));
  CHECK(all.gpu.sm_mhz.empty());
  CHECK(all.samples_us.size() == 4);
}

TEST_CASE("the detail of a timing: figures where there are some, else null, and why") {
  Timing known = timing({1, 2, 3}, {1755, 1740, 1200}, {2});
  known.gpu.watts = 412.46;
  known.gpu.celsius = 61;
  known.gpu.held_down_by = {"power limit"};
  const auto json = nlohmann::json::parse(detail_json_of(known));
  CHECK(json["samples"] == 3);
  CHECK(json["launches_a_sample"] == 20);
  CHECK(json["l2"] == "warm");
  CHECK(json["kilocycles"] == doctest::Approx(3.48));
  CHECK(json["sm_mhz"]["low"] == 1200);
  CHECK(json["sm_mhz"]["median"] == 1740);
  CHECK(json["sm_mhz"]["high"] == 1755);
  CHECK(json["throttled_samples"] == 1);
  CHECK(json["watts"] == 412.5);
  CHECK(json["held_down_by"][0] == "power limit");
  CHECK(json["readings"] == "available");

  Timing unknown = timing({1}, {});
  unknown.gpu.no_readings = "no such library";
  const auto bare = nlohmann::json::parse(detail_json_of(unknown));
  CHECK(bare["sm_mhz"].is_null());
  CHECK(bare["watts"].is_null());
  CHECK(bare["readings"] == "not available: no such library");

  unknown.kind = TimeKind::predicted;
  unknown.detail_json = "{}";
  CHECK(detail_json_of(unknown) == "{}");
}

TEST_CASE("times at one clock: of a kernel that was timed while the clock wandered, the same") {
  const std::string fast = detail_json_of(timing({10, 10.1, 9.9}, {1800, 1782, 1818}));
  const std::string slow = detail_json_of(timing({12, 12.1}, {1500, 1488}));
  CHECK(us_at_clock(10, fast, 1755) == doctest::Approx(10.256).epsilon(0.001));
  CHECK(us_at_clock(12, slow, 1755) == doctest::Approx(us_at_clock(10, fast, 1755)).epsilon(0.001));
  // Nobody knows the clock: of the GPU, of this sample, of the target; a prediction; none kept.
  CHECK(us_at_clock(10, detail_json_of(timing({10}, {})), 1755) == 10);
  CHECK(us_at_clock(10, fast, 0) == 10);
  CHECK(us_at_clock(10, R"({"bound":"tensor"})", 1755) == 10);
  CHECK(us_at_clock(10, "", 1755) == 10);
}

}  // namespace fa_tune::test
