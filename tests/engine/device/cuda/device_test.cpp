#include <algorithm>
#include <stdexcept>

#include <doctest/doctest.h>

#include "engine/util/error.hpp"
#include "fake_driver.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::cuda::fake;

namespace {

std::span<const std::byte> bytes_of(const std::vector<float>& values) {
  return std::as_bytes(std::span(values));
}

std::vector<float> read_floats(Device& device, BufferHandle buffer, std::size_t offset, int count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  REQUIRE(device.read(buffer, offset, std::as_writable_bytes(std::span(values))));
  return values;
}

// Without arguments, and nothing happens when it runs.
auto bare_kernel() {
  auto kernel = scale_kernel();
  kernel.parameter_sizes = {};
  kernel.body = nullptr;
  return kernel;
}

}  // namespace

TEST_CASE("a GPU's facts are asked from the driver") {
  const FakeDriver driver;
  driver->gpus = 3;
  const auto device = cuda::open_cuda(2);
  const DeviceInfo& info = device->info();
  CHECK(info.id == "cuda:2");
  CHECK(info.name == "Fake GPU 2");
  CHECK(info.arch == "sm_90");
  CHECK(info.driver.find("CUDA 13.0") != std::string::npos);
  CHECK(info.uuid == "GPU-02020202020202020202020202020202");
  CHECK(info.sms == 132);
  CHECK(info.shared_per_block == 232448);
  CHECK(info.accepts == BinaryKind::cubin);
  CHECK(info.times == TimeKind::measured);
}

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

TEST_CASE("inputs are exchanged in the midst of launches, without a wait between them") {
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

TEST_CASE("a kernel gets its arguments: buffers, addresses within them, scalars") {
  const FakeDriver driver;
  driver->kernels["scale"] = scale_kernel();
  {
    const auto device = cuda::open_cuda(0);
    const auto kernel = device->load(image_of("scale"));
    REQUIRE(kernel);
    const BufferHandle x = device->allocate(64);
    const BufferHandle y = device->allocate(64);
    REQUIRE(device->write(x, 0, bytes_of({1, 2, 3, 4, 5})));
    REQUIRE(device->write(y, 0, bytes_of({-1, -1, -1, -1, -1})));
    Launch launch{*kernel, {}, {x, device->address(y, 4), scalar(2.5F), scalar(3)}};
    launch.config = {{4, 2, 3}, {64, 2, 1}, {1, 1, 1}, 1024};
    REQUIRE(device->launch(launch));
    CHECK(read_floats(*device, y, 0, 5) == std::vector<float>{-1, 2.5F, 5, 7.5F, -1});

    REQUIRE(driver->launches.size() == 1);
    const LaunchRecord& seen = driver->launches[0];
    CHECK(seen.kernel == "scale");
    CHECK(seen.settings.grid_x == 4);
    CHECK(seen.settings.grid_y == 2);
    CHECK(seen.settings.grid_z == 3);
    CHECK(seen.settings.block_x == 64);
    CHECK(seen.settings.block_y == 2);
    CHECK(seen.settings.block_z == 1);
    CHECK(seen.settings.shared_bytes == 1024);
    CHECK(seen.settings.stream != nullptr);
    CHECK(seen.settings.attribute_count == 0);
    CHECK(seen.settings.attributes == nullptr);
    device->unload(*kernel);
    CHECK(driver->live.at("module") == 0);
    CHECK_THROWS_AS((void)device->launch(launch), std::out_of_range);
  }
  CHECK(driver.leaks() == 0);
}

TEST_CASE("a cluster is passed on, and a large one is allowed first, once") {
  const FakeDriver driver;
  driver->kernels["scale"] = bare_kernel();
  const auto device = cuda::open_cuda(0);
  Launch launch{*device->load(image_of("scale")), {}, {}};
  launch.config.cluster = {2, 1, 4};
  REQUIRE(device->launch(launch));
  const std::uint32_t* cluster = driver->launches.back().cluster;
  CHECK(std::vector<std::uint32_t>(cluster, cluster + 3) == std::vector<std::uint32_t>{2, 1, 4});
  CHECK(driver.calls("cuFuncSetAttribute") == 0);
  launch.config.cluster = {16, 1, 1};
  REQUIRE(device->launch(launch));
  REQUIRE(device->launch(launch));
  CHECK(driver.calls("cuFuncSetAttribute") == 1);
}

TEST_CASE("a programmatic launch is passed on, in a graph too and with a cluster") {
  const FakeDriver driver;
  driver->kernels["scale"] = bare_kernel();
  const auto device = cuda::open_cuda(0);
  Launch launch{*device->load(image_of("scale")), {}, {}};
  REQUIRE(device->launch(launch));
  CHECK_FALSE(driver->launches.back().programmatic);
  launch.config.programmatic = true;
  launch.config.grid = launch.config.cluster = {2, 1, 1};
  REQUIRE(device->launch(launch));
  CHECK(driver->launches.back().programmatic);
  CHECK(driver->launches.back().cluster[0] == 2);
  REQUIRE(device->time(launch, {}));
  CHECK(driver->launches.back().programmatic);
  CHECK(driver->launches.back().captured);
}

TEST_CASE("a cooperative launch is passed on where all of its blocks fit") {
  const FakeDriver driver;
  driver->kernels["scale"] = bare_kernel();
  const auto device = cuda::open_cuda(0);
  Launch launch{*device->load(image_of("scale")), {}, {}};
  REQUIRE(device->launch(launch));
  CHECK_FALSE(driver->launches.back().cooperative);
  CHECK(driver.calls("cuOccupancyMaxActiveBlocksPerMultiprocessor") == 0);
  launch.config.cooperative = true;
  launch.config.grid = {132, 2, 1};
  const auto fits = device->launch(launch);
  REQUIRE_MESSAGE(fits, fits.error().message);
  CHECK(driver->launches.back().cooperative);
  // Timed as a graph it is as cooperative.
  REQUIRE(device->time(launch, {}));
  CHECK(driver->launches.back().cooperative);
  CHECK(driver->launches.back().captured);

  launch.config.grid = {265, 1, 1};
  const auto refused = device->launch(launch);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == FaultKind::resources);
  CHECK(refused.error().message ==
        "scale: a cooperative grid of 265 blocks; the device holds 264 of them at once, and blocks "
        "that wait for each other must all be there");
}

TEST_CASE("shared memory above 48 KB is asked for when it is needed, and only then") {
  const FakeDriver driver;
  driver->kernels["scale"] = bare_kernel();
  const auto device = cuda::open_cuda(0);
  Launch launch{*device->load(image_of("scale")), {}, {}};
  launch.config.dynamic_shared_bytes = 48 * 1024;
  REQUIRE(device->launch(launch));
  CHECK(driver.calls("cuFuncSetAttribute") == 0);
  launch.config.dynamic_shared_bytes = 100 * 1024;
  REQUIRE(device->launch(launch));
  launch.config.dynamic_shared_bytes = 90 * 1024;
  REQUIRE(device->launch(launch));
  CHECK(driver.calls("cuFuncSetAttribute") == 1);
  launch.config.dynamic_shared_bytes = 300 * 1024;
  const auto refused = device->launch(launch);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == FaultKind::resources);
  CHECK(refused.error().message.find("307200 bytes") != std::string::npos);
  launch.config.dynamic_shared_bytes = 100 * 1024;
  CHECK(device->launch(launch));
}

TEST_CASE("arguments that do not match the kernel's parameters are refused before the driver") {
  const FakeDriver driver;
  driver->kernels["scale"] = scale_kernel();
  const auto device = cuda::open_cuda(0);
  const auto kernel = device->load(image_of("scale"));
  const BufferHandle x = device->allocate(64);
  const auto few = device->launch({*kernel, {}, {x, x, scalar(1.0F)}});
  REQUIRE_FALSE(few);
  CHECK(few.error().kind == FaultKind::load_failed);
  CHECK(few.error().message.find("takes 4 parameters, 3 were given") != std::string::npos);
  const auto wide = device->launch({*kernel, {}, {x, x, scalar(1.0), scalar(1)}});
  REQUIRE_FALSE(wide);
  CHECK(wide.error().message.find("parameter 2 has 4 bytes, 8 were given") != std::string::npos);
  CHECK(driver->launches.empty());
}

TEST_CASE("an image that is refused says what the driver's compiler said") {
  const FakeDriver driver;
  driver->kernels["scale"] = scale_kernel();
  driver->jit_log = "line 3\nbad register\n";
  {
    const auto device = cuda::open_cuda(0);
    driver.fail("cuModuleLoadDataEx:1:209");
    const auto refused = device->load(image_of("scale"));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind == FaultKind::load_failed);
    CHECK(refused.error().message.find("line 3 bad register") != std::string::npos);
    CHECK(refused.error().message.find('\n') == std::string::npos);

    const auto absent = device->load(image_of("nowhere"));
    REQUIRE_FALSE(absent);
    CHECK(absent.error().kind == FaultKind::load_failed);

    KernelImage garbage = image_of("scale");
    garbage.bytes = "not machine code";
    const int before = driver.calls("cuModuleLoadDataEx");
    CHECK(device->load(garbage).error().kind == FaultKind::load_failed);
    CHECK(driver.calls("cuModuleLoadDataEx") == before);

    KernelImage ptx{BinaryKind::ptx, "sm_90", "scale", ".version 8.0 scale", {}};
    CHECK(device->load(ptx));
  }
  CHECK(driver.leaks() == 0);
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
