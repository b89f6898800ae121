#include <stdexcept>

#include <doctest/doctest.h>

#include "engine/util/error.hpp"
#include "fake_driver.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::cuda::fake;

namespace {

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

}  // namespace fa_tune::test
