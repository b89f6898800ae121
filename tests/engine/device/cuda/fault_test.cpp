#include <algorithm>
#include <span>

#include <doctest/doctest.h>

#include "engine/util/error.hpp"
#include "fake_driver.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::cuda::fake;

namespace {

struct Mapping {
  int code;
  FaultKind kind;
  bool sticky;
};

constexpr Mapping kMappings[] = {
    {1, FaultKind::resources, false},      {2, FaultKind::resources, false},
    {701, FaultKind::resources, false},    {720, FaultKind::resources, false},
    {912, FaultKind::resources, false},    {700, FaultKind::out_of_bounds, true},
    {714, FaultKind::out_of_bounds, true}, {717, FaultKind::out_of_bounds, true},
    {716, FaultKind::misaligned, true},    {702, FaultKind::timeout, true},
    {710, FaultKind::trap, true},          {715, FaultKind::trap, true},
    {718, FaultKind::trap, true},          {719, FaultKind::trap, true},
    {721, FaultKind::trap, true},          {214, FaultKind::device_lost, true},
    {226, FaultKind::device_lost, true},   {911, FaultKind::device_lost, true},
    {999, FaultKind::device_lost, true},   {12345, FaultKind::device_lost, true},
};

Kernel nothing() { return {{}, nullptr, 5, cuda::kSuccess, false}; }

}  // namespace

TEST_CASE("each error of a launch has its kind; sticky ones lose the device, others do not") {
  for (const Mapping& mapping : kMappings) {
    CAPTURE(mapping.code);
    const FakeDriver driver;
    driver->kernels["k"] = nothing();
    {
      const auto device = cuda::open_cuda(0);
      const Launch launch{*device->load(image_of("k")), {}, {}};
      const BufferHandle buffer = device->allocate(16);
      driver.fail("cuLaunchKernelEx:1:" + std::to_string(mapping.code));
      const auto first = device->launch(launch);
      REQUIRE_FALSE(first);
      CHECK(first.error().kind == mapping.kind);
      CHECK(first.error().message.find(std::to_string(mapping.code)) != std::string::npos);
      CHECK(first.error().message.find("launch of k") != std::string::npos);

      const std::size_t calls = driver->calls.size();
      const auto second = device->launch(launch);
      CHECK(second.has_value() == !mapping.sticky);
      if (mapping.sticky) {
        CHECK(second.error().kind == FaultKind::device_lost);
        std::vector<std::byte> bytes(4);
        CHECK(device->write(buffer, 0, bytes).error().kind == FaultKind::device_lost);
        CHECK(device->read(buffer, 0, bytes).error().kind == FaultKind::device_lost);
        CHECK(device->load(image_of("k")).error().kind == FaultKind::device_lost);
        CHECK(device->time(launch, {}).error().kind == FaultKind::device_lost);
        const BufferHandle late = device->allocate(16);
        CHECK(device->write(late, 0, bytes).error().kind == FaultKind::device_lost);
        CHECK(driver->calls.size() == calls);
      }
    }
    CHECK(driver.leaks() == 0);
  }
}

TEST_CASE("what goes wrong while a kernel runs is its own fault, once") {
  const FakeDriver driver;
  driver->kernels["k"] = nothing();
  driver->kernels["k"].error = 716;
  {
    const auto device = cuda::open_cuda(0);
    const Launch launch{*device->load(image_of("k")), {}, {}};
    const auto first = device->launch(launch);
    REQUIRE_FALSE(first);
    CHECK(first.error().kind == FaultKind::misaligned);
    const auto second = device->launch(launch);
    REQUIRE_FALSE(second);
    CHECK(second.error().kind == FaultKind::device_lost);
    CHECK(second.error().message.find("716") != std::string::npos);
  }
  CHECK(driver.leaks() == 0);
}

TEST_CASE("a kernel that does not end is given up, and so is the device") {
  for (const bool timed : {false, true}) {
    const FakeDriver driver;
    driver->kernels["k"] = nothing();
    driver->kernels["k"].hangs = true;
    const auto device = cuda::open_cuda(0, {std::chrono::milliseconds(20)});
    const Launch launch{*device->load(image_of("k")), {}, {}};
    const Fault fault = timed ? device->time(launch, {}).error() : device->launch(launch).error();
    CHECK(fault.kind == FaultKind::timeout);
    CHECK(fault.message.find("20 ms") != std::string::npos);
    CHECK(device->launch(launch).error().kind == FaultKind::device_lost);
    // Only a few samples are queued behind it: a full queue would block the host.
    CHECK(driver->graph_launches <= 2);
  }
}

TEST_CASE("the driver's failing at any one call is told, leaks nothing and ends nothing") {
  for (const int code : {2, 700, 999}) {
    int nth = 1;
    bool reached_end = false;
    for (; !reached_end && nth < 500; ++nth) {
      CAPTURE(code);
      CAPTURE(nth);
      const FakeDriver driver;
      driver->kernels["scale"] = scale_kernel();
      driver.fail("*:" + std::to_string(nth) + ":" + std::to_string(code));
      bool told = false;
      std::size_t before_cleaning = 0;
      try {
        const auto device = cuda::open_cuda(0);
        const auto kernel = device->load(image_of("scale"));
        const BufferHandle x = device->allocate(64);
        const std::vector<float> input{1, 2, 3};
        const auto written = device->write(x, 0, std::as_bytes(std::span(input)));
        told |= !kernel || !written;
        if (kernel) {
          const Launch launch{*kernel, {}, {x, device->address(x, 32), scalar(2.0F), scalar(3)}};
          const auto launched = device->launch(launch);
          const auto timing = device->time(launch, {3, 2, 1});
          std::vector<float> output(3);
          const auto got = device->read(x, 32, std::as_writable_bytes(std::span(output)));
          told |= !launched || !timing || !got;
          if (written && launched && got) CHECK(output == std::vector<float>{2, 4, 6});
          if (timing) CHECK(timing->samples_us.size() == 2);
        }
        before_cleaning = driver->calls.size();
      } catch (const MachineError& error) {
        told = true;
        CHECK(std::string(error.what()).find('\n') == std::string::npos);
        before_cleaning = driver->calls.size();
      }
      CHECK(driver.leaks() == 0);
      reached_end = static_cast<std::size_t>(nth) > before_cleaning;
      // A parameter's size that is not told, something not given back, or no locked memory for
      // copies to go through harms no result; nor does a watch that does not come about, after what
      // describes the GPU and the kernel's own module.
      const auto before =
          std::span(driver->calls)
              .first(std::min(driver->calls.size(), static_cast<std::size_t>(nth - 1)));
      const auto calls_before = [&](const char* name) { return std::ranges::count(before, name); };
      const std::string& failed =
          reached_end ? "" : driver->calls[static_cast<std::size_t>(nth - 1)];
      const bool harmless =
          failed == "cuFuncGetParamInfo" || failed.ends_with("Destroy") ||
          failed.ends_with("Destroy_v2") || failed == "cuDeviceGetPCIBusId" ||
          failed == "cuModuleUnload" || failed == "cuMemHostAlloc" ||
          (failed == "cuDeviceGetAttribute" && calls_before("cuDeviceGetAttribute") >= 4) ||
          (failed.starts_with("cuModule") && calls_before("cuModuleGetFunction") >= 1);
      CAPTURE(failed);
      if (!reached_end && !harmless) CHECK(told);
    }
    CHECK(reached_end);
    CHECK(nth > 40);
  }
}

}  // namespace fa_tune::test
