#include <algorithm>
#include <stdexcept>

#include <doctest/doctest.h>

#include "engine/util/error.hpp"
#include "fake_driver.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::cuda::fake;

TEST_CASE("memory is written and read at offsets, and given back") {
  const FakeDriver driver;
  {
    const auto device = cuda::open_cuda(0);
    const BufferHandle buffer = device->allocate(64);
    REQUIRE(device->write(buffer, 0, bytes_of({1, 2, 3, 4})));
    REQUIRE(device->write(buffer, 8, bytes_of({30})));
    CHECK(read_floats(*device, buffer, 4, 3) == std::vector<float>{2, 30, 4});
    CHECK(driver->live.at("memory") == 1);
    device->release(buffer);
    CHECK_THROWS_AS((void)device->write(buffer, 0, bytes_of({1})), std::out_of_range);
    CHECK(driver->live.at("memory") == 0);
    // The driver may give the same memory to the next who asks: what was in it is gone by then.
    CHECK(driver.calls("cuMemsetD32Async") == 1);
    device->allocate(16);  // left to the destructor
  }
  CHECK(driver.leaks() == 0);
}

TEST_CASE("an empty buffer can be had, and copies of nothing touch no driver") {
  const FakeDriver driver;
  const auto device = cuda::open_cuda(0);
  const BufferHandle empty = device->allocate(0);
  CHECK(device->write(empty, 0, {}));
  CHECK(device->read(empty, 0, {}));
  CHECK(driver.calls("cuMemcpyHtoDAsync_v2") == 0);
}

TEST_CASE("ranges outside a buffer are a programming error, not a copy") {
  const FakeDriver driver;
  const auto device = cuda::open_cuda(0);
  const BufferHandle buffer = device->allocate(16);
  std::vector<std::byte> bytes(8);
  CHECK_THROWS_AS((void)device->write(buffer, 12, bytes), std::out_of_range);
  CHECK_THROWS_AS((void)device->read(buffer, static_cast<std::size_t>(-4), bytes),
                  std::out_of_range);
  CHECK_THROWS_AS((void)device->address(buffer, 17), std::out_of_range);
  CHECK(driver.calls("cuMemcpyHtoDAsync_v2") == 0);
}

TEST_CASE("out of memory says what was asked and what is there, and the device goes on") {
  const FakeDriver driver;
  driver->memory = 1000;
  const auto device = cuda::open_cuda(0);
  try {
    device->allocate(4000);
    FAIL("no exception");
  } catch (const OutOfMemory& error) {
    const std::string text = error.what();
    CHECK(text.find("4000 bytes") != std::string::npos);
    CHECK(text.find("1000 of 1000") != std::string::npos);
    CHECK(text.find('\n') == std::string::npos);
  }
  CHECK(device->write(device->allocate(16), 0, bytes_of({1})));
}

TEST_CASE("inputs are exchanged between launches without a wait") {
  const FakeDriver driver;
  driver->kernels["scale"] = scale_kernel();
  const auto device = cuda::open_cuda(0);
  const auto kernel = device->load(image_of("scale"));
  REQUIRE(kernel);
  const BufferHandle x = device->allocate(8);
  const BufferHandle y = device->allocate(8);
  const BufferHandle other = device->allocate(8);
  REQUIRE(device->write(x, 0, bytes_of({1, 2})));
  REQUIRE(device->write(other, 0, bytes_of({3, 4})));
  const Launch launch{*kernel, {}, {x, y, scalar(2.0F), scalar(2)}};
  driver->calls.clear();
  const std::vector<BufferCopy> copies = {{other, x, 8}};
  REQUIRE(device->launch_exchanging(launch, 3, {}, copies));
  CHECK(driver->kernels_run == 4);
  CHECK(read_floats(*device, y, 0, 2) == std::vector<float>{6, 8});
  std::vector<std::string> work;
  for (const std::string& call : driver->calls)
    if (call == "cuLaunchKernelEx" || call == "cuMemcpyDtoDAsync_v2" || call == "cuEventQuery")
      work.push_back(call);
  work.resize(6);
  CHECK(work == std::vector<std::string>{"cuLaunchKernelEx", "cuLaunchKernelEx", "cuLaunchKernelEx",
                                         "cuMemcpyDtoDAsync_v2", "cuLaunchKernelEx",
                                         "cuEventQuery"});
}

TEST_CASE("before a programmatic launch inputs are exchanged by a kernel that lets it begin") {
  const FakeDriver driver;
  driver->kernels["scale"] = scale_kernel();
  driver->kernels["fa_tune_late_copy"] = {
      {8, 8, 8}, [](const cuda::LaunchSettings&, void** parameters) {
        std::memcpy(std::bit_cast<void*>(value_at<cuda::DevicePointer>(parameters, 1)),
                    std::bit_cast<void*>(value_at<cuda::DevicePointer>(parameters, 0)),
                    value_at<std::uint64_t>(parameters, 2));
      }};
  const auto device = cuda::open_cuda(0);
  const BufferHandle x = device->allocate(8);
  const BufferHandle y = device->allocate(8);
  const BufferHandle other = device->allocate(8);
  REQUIRE(device->write(x, 0, bytes_of({1, 2})));
  REQUIRE(device->write(other, 0, bytes_of({3, 4})));
  Launch launch{*device->load(image_of("scale")), {}, {x, y, scalar(2.0F), scalar(2)}};
  launch.config.programmatic = true;
  const std::vector<BufferCopy> copies = {{other, x, 8}};
  REQUIRE(device->launch_exchanging(launch, 1, {}, copies));
  CHECK(read_floats(*device, y, 0, 2) == std::vector<float>{6, 8});
  std::vector<std::string> names;
  for (const LaunchRecord& each : driver->launches) {
    names.push_back(each.kernel);
    CHECK(each.programmatic);
  }
  CHECK(names == std::vector<std::string>{"scale", "fa_tune_late_copy", "scale"});
  CHECK(driver.calls("cuMemcpyDtoDAsync_v2") == 0);
}

TEST_CASE("what is constant is copied to the module's variable before each launch") {
  const FakeDriver driver;
  driver->kernels["scale"] = scale_kernel();
  driver->variables["table"].resize(8);
  const auto held = [&] {
    std::vector<float> values(2);
    std::memcpy(values.data(), driver->variables["table"].data(), 8);
    return values;
  };
  const auto device = cuda::open_cuda(0);
  const auto kernel = device->load(image_of("scale"));
  REQUIRE(kernel);
  const BufferHandle x = device->allocate(8);
  const BufferHandle other = device->allocate(8);
  REQUIRE(device->write(x, 0, bytes_of({1, 2})));
  REQUIRE(device->write(other, 0, bytes_of({3, 4})));
  Launch launch{*kernel, {}, {x, device->allocate(8), scalar(2.0F), scalar(2)}};
  launch.constants = {{"table", x, 0, 8}, {"left out by the compiler", x, 0, 8}};
  REQUIRE(device->launch(launch));
  CHECK(held() == std::vector<float>{1, 2});
  const std::vector<BufferCopy> copies = {{other, x, 8}};
  REQUIRE(device->launch_exchanging(launch, 2, {}, copies));
  CHECK(held() == std::vector<float>{3, 4});
  const std::vector<float> numbers = {5, 6};
  const std::vector<BufferWrite> writes = {{x, 0, std::as_bytes(std::span(numbers))}};
  REQUIRE(device->launch_between(writes, launch, {}));
  CHECK(held() == std::vector<float>{5, 6});
  launch.constants[0].bytes = 4;
  launch.constants[0].offset = 4;
  REQUIRE(device->time(launch, {}));
  CHECK(held() == std::vector<float>{6, 6});
  driver->variables["table"].resize(2);
  const auto refused = device->launch(launch);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == FaultKind::resources);
}

TEST_CASE("writes, a launch and reads go together, and through the long way where they are large") {
  const FakeDriver driver;
  driver->kernels["scale"] = scale_kernel();
  const auto device = cuda::open_cuda(0);
  for (const std::size_t bytes : {std::size_t{12}, std::size_t{17} << 20}) {
    const BufferHandle x = device->allocate(bytes);
    const Launch launch{
        *device->load(image_of("scale")), {}, {x, device->address(x, 0), scalar(2.0F), scalar(3)}};
    std::vector<std::byte> input(bytes), output(bytes);
    std::ranges::copy(bytes_of({1, 2, 3}), input.begin());
    const std::vector<BufferWrite> writes = {{x, 0, input}};
    const std::vector<BufferRead> reads = {{x, 0, output}};
    REQUIRE(device->launch_between(writes, launch, reads));
    CHECK(std::ranges::equal(std::span(output).first(12), bytes_of({2, 4, 6})));
    device->release(x);
  }
}

TEST_CASE("memory that copies go through is locked for the first large one, where the driver can") {
  for (const bool refused : {false, true}) {
    const FakeDriver driver;
    {
      const auto device = cuda::open_cuda(0);
      std::vector<std::byte> through(std::size_t{18} << 20);
      device->copies_through(through);
      const BufferHandle x = device->allocate(through.size());
      REQUIRE(device->write(x, 0, std::span(through).first(100)));
      CHECK(driver.calls("cuMemHostRegister_v2") == 0);
      if (refused) driver.fail("cuMemHostRegister_v2:1:801");
      through.back() = std::byte{7};
      REQUIRE(device->write(x, 0, through));
      through.back() = std::byte{0};
      REQUIRE(device->read(x, 0, through));
      CHECK(through.back() == std::byte{7});
      CHECK(driver.calls("cuMemHostRegister_v2") == 1);
    }
    CHECK(driver.calls("cuMemHostUnregister") == (refused ? 0 : 1));
    CHECK(driver.leaks() == 0);
  }
}

}  // namespace fa_tune::test
