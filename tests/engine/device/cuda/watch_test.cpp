// What a Timing says of the GPU, and the cold cache, on the fake driver and the fake NVML.

#include <algorithm>
#include <cstdint>

#include <doctest/doctest.h>

#include "fake_driver.hpp"
#include "fake_libnvml.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::cuda::fake;

namespace {

Kernel kernel_of(double us) { return {{}, nullptr, us, cuda::kSuccess, false}; }

// The fake driver with a kernel of 10 us, and SMs whose clock is at `mhz` in the n-th interval
// between two marks.
class WatchedDriver {
 public:
  explicit WatchedDriver(std::function<double(int)> mhz) : mhz_(std::move(mhz)) {
    driver_->kernels["k"] = kernel_of(10);
    Kernel& probe = driver_->kernels["fa_tune_clock"];
    probe = kernel_of(2);
    probe.parameter_sizes = {8};
    probe.body = [this](const cuda::LaunchSettings&, void** parameters) {
      mark(value_at<cuda::DevicePointer>(parameters, 0));
    };
  }

  State* operator->() const { return driver_.operator->(); }
  const FakeDriver& driver() const { return driver_; }
  Timing time(const TimingPlan& plan) const {
    const auto device = cuda::open_cuda(0);
    const Launch launch{*device->load(image_of("k")), {}, {}};
    auto timing = device->time(launch, plan);
    REQUIRE(timing);
    return *timing;
  }

 private:
  void mark(cuda::DevicePointer at) {
    const double now = driver_->clock_us;
    if (marks_ > 0) cycles_ += (now - last_us_) * mhz_(marks_ - 1);
    last_us_ = now;
    ++marks_;
    const std::uint64_t words[] = {static_cast<std::uint64_t>(now * 1e3),
                                   static_cast<std::uint64_t>(cycles_)};
    std::memcpy(reinterpret_cast<void*>(at), words, sizeof words);
  }

  FakeDriver driver_;
  std::function<double(int)> mhz_;
  int marks_ = 0;
  double last_us_ = 0;
  double cycles_ = 1e6;
};

// The fake NVML in the place of the machine's.
NvmlState& nvml() {
  setenv("FA_TUNE_LIBNVML", FAKE_LIBNVML, 1);
  void* library = dlopen(FAKE_LIBNVML, RTLD_NOW | RTLD_LOCAL);
  auto* state = reinterpret_cast<NvmlState* (*)()>(dlsym(library, "fake_nvml_state"))();
  *state = {};
  return *state;
}

}  // namespace

TEST_CASE("each sample has the clock of the SMs; under three quarters it is throttled") {
  // Two warm-ups come first; samples 3 and 4 are slow.
  const WatchedDriver driver([](int i) { return i == 5 || i == 6 ? 1200.0 : 1755.0; });
  const Timing timing = driver.time({20, 8, 2});
  CHECK(timing.l2 == L2::warm);
  CHECK(timing.launches_per_sample == 20);
  for (const double us : timing.samples_us) CHECK(us == doctest::Approx(10).epsilon(1e-4));
  REQUIRE(timing.gpu.sm_mhz.size() == 8);
  for (std::size_t i = 0; i < 8; ++i)
    CHECK(timing.gpu.sm_mhz[i] == doctest::Approx(i == 3 || i == 4 ? 1200 : 1755).epsilon(0.001));
  CHECK(timing.gpu.throttled == std::vector<std::uint32_t>{3, 4});
  CHECK_FALSE(timing.gpu.no_readings.empty());
  CHECK(timing.gpu.watts == 0);
  // The probe is between the samples: eleven of it, none in a graph.
  CHECK(std::ranges::count_if(driver->launches, [](const LaunchRecord& record) {
          return record.kernel == "fa_tune_clock" && !record.captured &&
                 record.settings.grid_x == 132;
        }) == 11);
  CHECK(driver.driver().leaks() == 0);
}

TEST_CASE("a driver without NVML, or a clock that is none, leaves it unknown and times") {
  const WatchedDriver driver([](int) { return 1.0; });
  const Timing timing = driver.time({20, 8, 2});
  CHECK(timing.samples_us.size() == 8);
  CHECK(timing.gpu.sm_mhz.empty());
  CHECK(timing.gpu.throttled.empty());
  CHECK(timing.gpu.no_readings.find("/no/libnvidia-ml.so.1") != std::string::npos);
}

TEST_CASE("NVML tells power, temperature and what holds the clock down") {
  const WatchedDriver driver([](int) { return 1755.0; });
  NvmlState& state = nvml();
  state.reasons = 0x4;
  const Timing limited = driver.time({20, 8, 2});
  CHECK(limited.gpu.no_readings.empty());
  CHECK(limited.gpu.watts == doctest::Approx(350.5));
  CHECK(limited.gpu.celsius == 61);
  CHECK(limited.gpu.held_down_by == std::vector<std::string>{"power limit"});
  CHECK(limited.gpu.throttled.empty());  // the power limit is there for every user
  CHECK(state.reads > 0);

  state.reasons = 0x4 | 0x40;
  const Timing hot = driver.time({20, 8, 2});
  CHECK(hot.gpu.held_down_by == std::vector<std::string>{"power limit", "heat (hardware)"});
  CHECK(hot.gpu.throttled.size() == 8);

  state.init = 9;
  const Timing without = driver.time({20, 8, 2});
  CHECK(without.gpu.no_readings == "nvmlInit_v2: error 9");
  CHECK(without.gpu.throttled.empty());
}

TEST_CASE("at the power limit a low clock is no throttling: every user has it") {
  const WatchedDriver driver([](int i) { return i > 5 ? 1200.0 : 1755.0; });
  NvmlState& state = nvml();
  CHECK(driver.time({20, 8, 2}).gpu.throttled.size() == 4);
  state.reasons = 0x4;
  CHECK(driver.time({20, 8, 2}).gpu.throttled.empty());
  state.reasons = 0x4 | 0x20;
  CHECK(driver.time({20, 8, 2}).gpu.throttled.size() == 8);
}

TEST_CASE("NVML counts the energy, or it is unknown") {
  const WatchedDriver driver([](int) { return 1755.0; });
  NvmlState& state = nvml();
  const auto device = cuda::open_cuda(0);
  CHECK(device->joules() == 5.0);
  state.millijoules = 7'250;
  CHECK(device->joules() == 7.25);
  state.millijoules = 0;  // what the fake takes for a GPU that does not count
  CHECK_FALSE(device->joules());
}

TEST_CASE("of a cold cache each launch is a sample after a flush that is not timed") {
  const WatchedDriver driver([](int) { return 1755.0; });
  const Timing timing = driver.time({20, 8, 2, L2::cold});
  CHECK(timing.l2 == L2::cold);
  CHECK(timing.launches_per_sample == 1);
  REQUIRE(timing.samples_us.size() == 8);
  for (const double us : timing.samples_us) CHECK(us == doctest::Approx(10).epsilon(1e-4));
  CHECK(driver.driver().calls("cuMemsetD32Async") == 10);
  CHECK(driver->graph_launches == 0);
  // Flush, event, launch, event, mark: nothing else is in the stream of a sample.
  const auto flush = std::ranges::find(driver->calls, "cuMemsetD32Async");
  const std::vector<std::string> sample(flush, flush + 5);
  CHECK(sample == std::vector<std::string>{"cuMemsetD32Async", "cuEventRecord", "cuLaunchKernelEx",
                                           "cuEventRecord", "cuLaunchKernelEx"});
  CHECK(driver.driver().leaks() == 0);
}

TEST_CASE("a warm cache holds what others left there before the first launch, once") {
  const WatchedDriver driver([](int) { return 1755.0; });
  driver.time({20, 8, 2, L2::warm});
  CHECK(driver.driver().calls("cuMemsetD32Async") == 1);
  CHECK(std::ranges::find(driver->calls, "cuMemsetD32Async") <
        std::ranges::find(driver->calls, "cuGraphLaunch"));
}

TEST_CASE("a cache whose size is not told cannot be flushed, and that is said") {
  const WatchedDriver driver([](int) { return 1755.0; });
  driver->l2_bytes = 0;
  const auto device = cuda::open_cuda(0);
  const Launch launch{*device->load(image_of("k")), {}, {}};
  const auto timing = device->time(launch, {1, 4, 1, L2::cold});
  REQUIRE_FALSE(timing);
  CHECK(timing.error().kind == FaultKind::resources);
  CHECK(device->time(launch, {1, 4, 1}));
}

TEST_CASE(
    "whatever call fails while it is watched, there are all samples or a fault, and no leak") {
  for (const int code : {2, 700}) {
    bool reached_end = false;
    for (int nth = 1; !reached_end; ++nth) {
      CAPTURE(code);
      CAPTURE(nth);
      const WatchedDriver driver([](int) { return 1755.0; });
      {
        const auto device = cuda::open_cuda(0);
        const Launch launch{*device->load(image_of("k")), {}, {}};
        const std::size_t before = driver->calls.size();
        driver.driver().fail("*:" + std::to_string(before + static_cast<std::size_t>(nth)) + ":" +
                             std::to_string(code));
        const auto timing = device->time(launch, {2, 3, 1, L2::warm});
        const auto cold = device->time(launch, {2, 3, 1, L2::cold});
        for (const auto* each : {&timing, &cold})
          if (*each) {
            CHECK((*each)->samples_us.size() == 3);
            CHECK(((*each)->gpu.sm_mhz.empty() || (*each)->gpu.sm_mhz.size() == 3));
          }
        CHECK(device->lost() == (code == 700 && (!timing || !cold)));
        reached_end = driver->calls.size() < before + static_cast<std::size_t>(nth);
      }
      CHECK(driver.driver().leaks() == 0);
    }
  }
}

}  // namespace fa_tune::test
