#include <algorithm>
#include <cstring>
#include <string>

#include <doctest/doctest.h>

#include "fake_driver.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::cuda::fake;

namespace {

Kernel lasting(double us) { return {{}, nullptr, us, cuda::kSuccess, false}; }

}  // namespace

TEST_CASE("a graph of the launches is replayed once a sample and once a warm-up") {
  const FakeDriver driver;
  driver->kernels["k"] = lasting(7.5);
  {
    const auto device = cuda::open_cuda(0);
    const Launch launch{*device->load(image_of("k")), {}, {}};
    const auto timing = device->time(launch, {20, 30, 4});
    REQUIRE(timing);
    CHECK(timing->kind == TimeKind::measured);
    CHECK(timing->model.empty());
    REQUIRE(timing->samples_us.size() == 30);
    for (const double us : timing->samples_us) CHECK(us == doctest::Approx(7.5).epsilon(1e-4));
    CHECK(driver->launches.size() == 20);
    CHECK(std::all_of(driver->launches.begin(), driver->launches.end(),
                      [](const LaunchRecord& record) { return record.captured; }));
    CHECK(driver->graph_launches == 34);
    CHECK(driver->kernels_run == 20 * 34);
    CHECK(driver->live.at("graph") == 0);
    CHECK(driver->live.at("exec") == 0);
    CHECK(driver->live.at("event") == 1);  // the device's own
  }
  CHECK(driver.leaks() == 0);
}

TEST_CASE("what is to be done before each launch is, in the graph and without one") {
  const FakeDriver driver;
  const auto device = cuda::open_cuda(0);
  const BufferHandle own = device->allocate(12), first = device->allocate(12);
  // Whether it finds in 7 bytes of its own what they are filled with, and first's in the others.
  int seen = 0, found = 0;
  driver->kernels["k"] = {{8},
                          [&](const cuda::LaunchSettings&, void** parameters) {
                            char* bytes = nullptr;
                            std::memcpy(&bytes, parameters[0], sizeof bytes);
                            ++seen;
                            found += std::string(bytes, 12) == "MMMMMMM\1\1\1\1\1";
                            std::memset(bytes, 7, 12);
                          },
                          5,
                          cuda::kSuccess,
                          false};
  REQUIRE(device->fill({{first, 0, 12, 1}}));
  const Launch launch{*device->load(image_of("k")), {}, {own}};
  TimingPlan plan{10, 4, 1};
  plan.before_each = {{{own, 0, 7, 'M'}}, {{first, own, 5, 2, 7}}};
  const double fills_us = 2 * driver->memset_us;  // words, and bytes that are no whole one
  const auto timing = device->time(launch, plan);
  REQUIRE(timing);
  CHECK(timing->samples_us[0] == doctest::Approx(5 + fills_us).epsilon(1e-4));
  CHECK(seen == 50);
  CHECK(found == 50);
  plan.launches_per_sample = 1;
  CHECK(device->time(launch, plan)->samples_us[0] == doctest::Approx(5 + fills_us).epsilon(1e-4));
  CHECK(seen == 55);
  CHECK(found == 55);
}

TEST_CASE(
    "several steps are one launch: in a stream, and in a graph even where it is timed alone") {
  const FakeDriver driver;
  const auto device = cuda::open_cuda(0);
  const BufferHandle x = device->allocate(8), y = device->allocate(8);
  std::string order;
  const auto noting = [&](const char* name) {
    return Kernel{{8},
                  [&order, name](const cuda::LaunchSettings& settings, void** parameters) {
                    char* bytes = nullptr;
                    std::memcpy(&bytes, parameters[0], sizeof bytes);
                    order += name + std::to_string(settings.grid_x) + std::to_string(bytes[0]);
                    bytes[0] = 5;
                  },
                  5,
                  cuda::kSuccess,
                  false};
  };
  driver->kernels["a"] = noting("a");
  driver->kernels["b"] = noting("b");
  KernelImage image = image_of("a");
  image.more = {{"b", {}}};
  image.bytes += " b";
  const auto loaded = device->load(image);
  REQUIRE(loaded);
  CHECK(driver.calls("cuModuleLoadDataEx") == 1);
  Launch launch;
  launch.kernel = *loaded;
  LaunchConfig wide;
  wide.grid.x = 7;
  launch.steps = {BufferFill{x, 0, 8, 3}, KernelStep{1, {}, {x}}, BufferCopy{x, y, 8},
                  KernelStep{0, wide, {y}}};
  const std::string once = "b13a75";
  REQUIRE(device->launch(launch));
  CHECK(order == once);
  order.clear();
  REQUIRE(device->launch_exchanging(launch, 1, {}, {}));
  CHECK(order == once + once);
  order.clear();
  std::vector<std::byte> read(1);
  const BufferRead wanted{y, 0, read};
  REQUIRE(device->launch_between({}, launch, std::span(&wanted, 1)));
  CHECK(read[0] == std::byte{5});
  for (const int launches : {1, 10}) {
    order.clear();
    const int graphs = driver->graph_launches;
    const auto timing = device->time(launch, {launches, 4, 1});
    REQUIRE(timing);
    CHECK(driver->graph_launches == graphs + 5);
    CHECK(order.size() == once.size() * 5 * launches);
    CHECK(timing->samples_us[0] >= 10);
  }
  launch.steps = {KernelStep{0, {}, {}}};
  CHECK_FALSE(device->launch(launch));  // too few arguments
  image.more = {{"absent", {}}};
  CHECK_FALSE(device->load(image));
}

TEST_CASE("what is restored before each launch is in no sample, and each sample is one launch") {
  const FakeDriver driver;
  const auto device = cuda::open_cuda(0);
  const BufferHandle own = device->allocate(8), first = device->allocate(8);
  int found = 0;
  driver->kernels["k"] = {{8},
                          [&](const cuda::LaunchSettings&, void** parameters) {
                            char* bytes = nullptr;
                            std::memcpy(&bytes, parameters[0], sizeof bytes);
                            found += std::string(bytes, 8) == "\1\1\1\1MMMM";
                            std::memset(bytes, 7, 8);
                          },
                          5,
                          cuda::kSuccess,
                          false};
  driver->kernels["fa_tune_lead"] = lasting(30);
  driver->kernels["fa_tune_lead"].parameter_sizes = {8};
  REQUIRE(device->fill({{first, 0, 8, 1}}));
  const Launch launch{*device->load(image_of("k")), {}, {own}};
  for (const L2 l2 : {L2::warm, L2::cold}) {
    found = 0;
    driver->calls.clear();
    TimingPlan plan{10, 4, 1, l2};
    plan.restore = {{}, {{first, own, 8}}};
    plan.before_each = {{{own, 4, 4, 'M'}}, {}};
    const auto timing = device->time(launch, plan);
    REQUIRE(timing);
    CHECK(timing->restored);
    CHECK(timing->launches_per_sample == 1);
    REQUIRE(timing->samples_us.size() == 4);
    for (const double us : timing->samples_us)
      CHECK(us == doctest::Approx(5 + driver->memset_us).epsilon(1e-4));
    CHECK(found == 5);
    CHECK(std::ranges::count(driver->calls, "cuMemcpyDtoDAsync_v2") == 5);
    // The GPU is kept busy between the copy and the first event, for the host to submit the rest.
    const auto copied = std::ranges::find(driver->calls, "cuMemcpyDtoDAsync_v2");
    const auto led = std::find(copied, driver->calls.end(), "cuLaunchKernelEx");
    CHECK(std::find(copied, driver->calls.end(), "cuEventRecord") > led);
  }
  found = 0;
  REQUIRE(device->launch_exchanging(launch, 2, {{{own, 4, 4, 'M'}}, {{first, own, 4}}}, {}));
  CHECK(found == 2);
}

TEST_CASE("one launch a sample needs no graph") {
  const FakeDriver driver;
  driver->kernels["k"] = lasting(1234);
  const auto device = cuda::open_cuda(0);
  const Launch launch{*device->load(image_of("k")), {}, {}};
  const auto timing = device->time(launch, {1, 10, 2});
  REQUIRE(timing);
  CHECK(timing->samples_us == std::vector<double>(10, timing->samples_us[0]));
  CHECK(timing->samples_us[0] == doctest::Approx(1234).epsilon(1e-4));
  CHECK(driver->graph_launches == 0);
  CHECK(driver.calls("cuStreamBeginCapture_v2") == 0);
  CHECK(driver->kernels_run == 12);
}

TEST_CASE("the more launches a graph has, the less its start weighs") {
  const FakeDriver driver;
  driver->kernels["k"] = lasting(5);
  driver->graph_gap_us = 10;
  const auto device = cuda::open_cuda(0);
  const Launch launch{*device->load(image_of("k")), {}, {}};
  CHECK(device->time(launch, {2, 1, 0})->samples_us[0] == doctest::Approx(10).epsilon(1e-3));
  CHECK(device->time(launch, {100, 1, 0})->samples_us[0] == doctest::Approx(5.1).epsilon(1e-3));
}

TEST_CASE("the next sample is in the stream before the last one is waited for") {
  const FakeDriver driver;
  driver->kernels["k"] = lasting(5);
  const auto device = cuda::open_cuda(0);
  const Launch launch{*device->load(image_of("k")), {}, {}};
  REQUIRE(device->time(launch, {10, 6, 0}));
  int in_stream = 0;
  int most = 0;
  for (const std::string& call : driver->calls) {
    if (call == "cuGraphLaunch") most = std::max(most, ++in_stream);
    if (call == "cuEventElapsedTime") --in_stream;
  }
  CHECK(in_stream == 0);
  CHECK(most == 2);
}

TEST_CASE("a launch that is refused inside a capture leaves the stream usable") {
  const FakeDriver driver;
  driver->kernels["k"] = lasting(5);
  const auto device = cuda::open_cuda(0);
  const Launch launch{*device->load(image_of("k")), {}, {}};
  driver.fail("cuLaunchKernelEx:3:701");
  const auto refused = device->time(launch, {5, 2, 0});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == FaultKind::resources);
  CHECK(device->launch(launch));
  CHECK(device->time(launch, {5, 2, 0}));
}

TEST_CASE("a kernel that faults in a replay is told as its fault") {
  const FakeDriver driver;
  driver->kernels["k"] = lasting(5);
  driver->kernels["k"].error = 700;
  {
    const auto device = cuda::open_cuda(0);
    const Launch launch{*device->load(image_of("k")), {}, {}};
    const auto timing = device->time(launch, {5, 2, 0});
    REQUIRE_FALSE(timing);
    CHECK(timing.error().kind == FaultKind::out_of_bounds);
  }
  CHECK(driver.leaks() == 0);
}

}  // namespace fa_tune::test
