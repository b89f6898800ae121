// On a real GPU. Kernels are PTX, which the driver compiles: no CUDA toolkit is needed.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>

#include <doctest/doctest.h>
#include <fmt/core.h>

#include "engine/device/cuda/cuda_device.hpp"
#include "engine/measure/sampler.hpp"
#include "engine/util/error.hpp"

using namespace fa_tune;
using namespace fa_tune::device;
using namespace fa_tune::measure;

namespace {

// For any GPU since Turing. scale: y[i] = factor * x[i]. Others do what they are called.
const char* const kText = R"(
.version 6.3
.target sm_75
.address_size 64

.extern .shared .align 16 .b8 pool[];

.visible .entry scale(.param .u64 px, .param .u64 py, .param .f32 pfactor, .param .u32 pn) {
  .reg .pred %p<2>; .reg .f32 %f<4>; .reg .b32 %r<6>; .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [px]; ld.param.u64 %rd2, [py];
  ld.param.f32 %f1, [pfactor]; ld.param.u32 %r1, [pn];
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.s32 %p1, %r5, %r1; @%p1 bra done;
  mul.wide.s32 %rd3, %r5, 4;
  add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
  ld.global.f32 %f2, [%rd4]; mul.f32 %f3, %f1, %f2; st.global.f32 [%rd5], %f3;
done: ret;
}

.visible .entry empty() { ret; }

.visible .entry last_shared_byte(.param .u64 py, .param .u32 pat) {
  .reg .b32 %r<4>; .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [py]; ld.param.u32 %r1, [pat];
  mov.u32 %r2, pool; add.s32 %r2, %r2, %r1;
  st.shared.u32 [%r2], 77; ld.shared.u32 %r3, [%r2]; st.global.u32 [%rd1], %r3;
  ret;
}

.visible .entry wild() {
  .reg .b64 %rd<2>; mov.u64 %rd1, 64; st.global.u32 [%rd1], 1; ret;
}

.visible .entry crooked(.param .u64 py) {
  .reg .b64 %rd<2>; ld.param.u64 %rd1, [py]; add.s64 %rd1, %rd1, 2; st.global.u32 [%rd1], 1; ret;
}

.visible .entry stop() { trap; ret; }

.visible .entry spin(.param .u64 py) {
  .reg .pred %p<2>; .reg .b32 %r<2>; .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [py];
again:
  ld.volatile.global.u32 %r1, [%rd1];
  setp.eq.u32 %p1, %r1, 0; @%p1 bra again;
  ret;
}
)";

KernelImage ptx(const std::string& kernel) { return {BinaryKind::ptx, "sm_75", kernel, kText, {}}; }

template <typename T>
std::vector<std::byte> scalar(T value) {
  std::vector<std::byte> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

LaunchConfig config(std::uint32_t grid, std::uint32_t block, std::uint32_t shared = 0) {
  return {{grid, 1, 1}, {block, 1, 1}, {1, 1, 1}, shared};
}

}  // namespace

TEST_CASE("a kernel computes, at offsets into buffers") {
  const auto device = cuda::open_cuda(0);
  MESSAGE(device->info().name, ", ", device->info().arch, ", ", device->info().driver);
  CHECK(device->info().sms > 0);
  CHECK(device->info().shared_per_block >= 48 * 1024);
  CHECK(device->info().uuid.starts_with("GPU-"));
  const auto kernel = device->load(ptx("scale"));
  REQUIRE_MESSAGE(kernel, (kernel ? "" : kernel.error().message));
  constexpr int n = 100'000;
  std::vector<float> x(n);
  for (int i = 0; i < n; ++i) x[static_cast<std::size_t>(i)] = static_cast<float>(i);
  const BufferHandle in = device->allocate(n * 4 + 256);
  const BufferHandle out = device->allocate(n * 4 + 256);
  REQUIRE(device->write(in, 256, std::as_bytes(std::span(x))));
  const Launch launch{*kernel,
                      config((n + 127) / 128, 128),
                      {device->address(in, 256), out, scalar(3.0F), scalar(n)}};
  REQUIRE(device->launch(launch));
  std::vector<float> y(n);
  REQUIRE(device->read(out, 0, std::as_writable_bytes(std::span(y))));
  bool right = true;
  for (std::size_t i = 0; i < y.size(); ++i) right &= y[i] == 3.0F * x[i];
  CHECK(right);
}

TEST_CASE("all the shared memory the device tells of can be used, and no more") {
  const auto device = cuda::open_cuda(0);
  const auto kernel = device->load(ptx("last_shared_byte"));
  REQUIRE(kernel);
  const BufferHandle out = device->allocate(4);
  const int all = device->info().shared_per_block;
  Launch launch{*kernel, config(1, 1, static_cast<std::uint32_t>(all)), {out, scalar(all - 4)}};
  REQUIRE(device->launch(launch));
  std::uint32_t value = 0;
  REQUIRE(device->read(out, 0, std::as_writable_bytes(std::span(&value, 1))));
  CHECK(value == 77);
  launch.config.dynamic_shared_bytes += 1024;
  CHECK(device->launch(launch).error().kind == FaultKind::resources);
}

TEST_CASE("times are of the right size and repeat") {
  const auto device = cuda::open_cuda(0);
  const auto empty = device->load(ptx("empty"));
  REQUIRE(empty);
  const auto nothing = measure::measure(*device, {*empty, config(1, 32), {}}, Effort::final_);
  REQUIRE(nothing);
  MESSAGE("an empty kernel in a graph: ", nothing->time_us.value, " us, ", nothing->time_us.low,
          " to ", nothing->time_us.high);
  CHECK(nothing->time_us.value > 0.3);
  CHECK(nothing->time_us.value < 10);

  const auto scale = device->load(ptx("scale"));
  constexpr int n = 1 << 26;
  const BufferHandle buffer = device->allocate(std::size_t{n} * 4);
  const Launch big{*scale, config(n / 256, 256), {buffer, buffer, scalar(1.0F), scalar(n)}};
  const auto first = measure::measure(*device, big, Effort::final_);
  const auto second = measure::measure(*device, big, Effort::final_);
  REQUIRE(first);
  REQUIRE(second);
  const double gb_per_s = 2.0 * n * 4 / first->time_us.value / 1e3;
  MESSAGE("256 MiB read and written: ", first->time_us.value, " us, ", gb_per_s, " GB/s");
  CHECK(gb_per_s > 50);
  CHECK(gb_per_s < 20'000);
  CHECK(second->time_us.value == doctest::Approx(first->time_us.value).epsilon(0.05));
}

TEST_CASE("buffers are filled and copied before each launch of a graph") {
  const auto device = cuda::open_cuda(0);
  const auto kernel = device->load(ptx("scale"));
  REQUIRE(kernel);
  constexpr int n = 1001;
  const BufferHandle in = device->allocate(n * 4), first = device->allocate(n * 4),
                     out = device->allocate(n * 4);
  const std::vector<float> ones(n, 1.0F);
  REQUIRE(device->write(first, 0, std::as_bytes(std::span(ones))));
  // In place: without its input given back before each launch it would grow without end.
  const Launch launch{*kernel, config(8, 128), {in, in, scalar(3.0F), scalar(n)}};
  TimingPlan plan{10, 5, 1};
  plan.before_each = {{{out, 0, n * 4 - 1, 0x4d}}, {{first, in, n * 4}}};
  const auto with = device->time(launch, plan);
  REQUIRE_MESSAGE(with, (with ? "" : with.error().message));
  std::vector<float> y(n);
  REQUIRE(device->read(in, 0, std::as_writable_bytes(std::span(y))));
  CHECK(y == std::vector<float>(n, 3.0F));
  std::vector<std::byte> filled(n * 4 - 1);
  REQUIRE(device->read(out, 0, filled));
  CHECK(filled == std::vector<std::byte>(n * 4 - 1, std::byte{0x4d}));
  plan.before_each = {};
  const auto without = device->time(launch, plan);
  REQUIRE(without);
  MESSAGE("fills and a copy cost ", with->samples_us[2] - without->samples_us[2], " us a launch");
  CHECK(with->samples_us[2] > without->samples_us[2]);
  // Restored, it is as much, in none of the samples, and the host's time is in none either.
  plan.samples = 51;
  plan.restore = {{}, {{first, in, n * 4}}};
  const auto restored = device->time(launch, plan);
  REQUIRE(restored);
  REQUIRE(device->read(in, 0, std::as_writable_bytes(std::span(y))));
  CHECK(y == std::vector<float>(n, 3.0F));
  MESSAGE("in a graph ", without->samples_us[2], " us, restored and alone ",
          median(restored->samples_us), " us");
  CHECK(median(restored->samples_us) < without->samples_us[2] + 5);
}

TEST_CASE("a timing tells the SMs' clock, and reading 8 MB takes longer from memory than from L2") {
  const auto device = cuda::open_cuda(0);
  const auto kernel = device->load(ptx("scale"));
  REQUIRE(kernel);
  constexpr std::uint32_t numbers = 1 << 20;
  const BufferHandle x = device->allocate(numbers * 4);
  const BufferHandle y = device->allocate(numbers * 4);
  const Launch launch{
      *kernel, config(numbers / 256, 256), {x, y, scalar(2.0F), scalar(static_cast<int>(numbers))}};
  const auto warm = device->time(launch, {20, 50, 5, L2::warm});
  const auto cold = device->time(launch, {1, 50, 5, L2::cold});
  REQUIRE(warm);
  REQUIRE(cold);
  const GpuState& gpu = warm->gpu;
  REQUIRE(gpu.sm_mhz.size() == 50);
  for (const double mhz : gpu.sm_mhz) {
    CHECK(mhz > 200);
    CHECK(mhz < 4000);
  }
  CHECK(median(cold->samples_us) > median(warm->samples_us));
  CHECK((gpu.no_readings.empty() ? gpu.watts > 0 : gpu.watts == 0));
  MESSAGE("warm " << median(warm->samples_us) << " us, cold " << median(cold->samples_us)
                  << " us, SM " << median(gpu.sm_mhz) << " MHz, " << gpu.watts << " W, "
                  << gpu.celsius << " C, throttled " << gpu.throttled.size() << " of 50; "
                  << gpu.no_readings);
}

TEST_CASE("what is too much for the device is refused, and the device goes on") {
  const auto device = cuda::open_cuda(0);
  const auto kernel = device->load(ptx("empty"));
  REQUIRE(kernel);
  CHECK(device->launch({*kernel, config(1, 4096), {}}).error().kind == FaultKind::resources);
  CHECK(device->time({*kernel, config(1, 4096), {}}, {}).error().kind == FaultKind::resources);
  CHECK(device->launch({*kernel, config(1, 32), {}}));
  CHECK(device->time({*kernel, config(1, 32), {}}, {}));
  KernelImage broken = ptx("empty");
  broken.bytes += "\nthis is not PTX";
  const auto refused = device->load(broken);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == FaultKind::load_failed);
  MESSAGE(refused.error().message);
}

int main(int argc, char** argv) {
  // Faults kill the process's context for good, and a hang stays on the GPU until the process ends:
  // each of these gets a process of its own, `test_cuda_gpu --fault NAME`.
  if (argc == 3 && std::strcmp(argv[1], "--fault") == 0) {
    const std::string name = argv[2];
    const auto device = cuda::open_cuda(0, {std::chrono::milliseconds(500)});
    const auto kernel = device->load(ptx(name));
    if (!kernel) {
      fmt::print("{}\n", to_text(kernel.error().kind));
      return 1;
    }
    Launch launch{*kernel, config(1, 1), {}};
    if (name == "spin" || name == "crooked") {
      const BufferHandle buffer = device->allocate(256);
      const std::vector<std::byte> zeros(256);
      if (!device->write(buffer, 0, zeros)) return 1;
      launch.arguments = {buffer};
    }
    const auto first = device->launch(launch);
    const auto second = device->launch(launch);
    fmt::print("{} {}\n", first ? "done" : to_text(first.error().kind),
               second ? "done" : to_text(second.error().kind));
    std::fflush(stdout);
    std::_Exit(0);
  }
  try {
    cuda::open_cuda(0);
  } catch (const MachineError& error) {
    fmt::print("SKIPPED: no GPU test ran: {}\n", error.what());
    return 77;
  }
  doctest::Context context(argc, argv);
  const int failed = context.run();
  if (failed != 0 || context.shouldExit()) return failed;

  const std::pair<const char*, const char*> faults[] = {{"wild", "out_of_bounds device_lost\n"},
                                                        {"crooked", "misaligned device_lost\n"},
                                                        {"stop", "trap device_lost\n"},
                                                        {"spin", "timeout device_lost\n"}};
  int wrong = 0;
  for (const auto& [name, expected] : faults) {
    const std::string command = std::string(argv[0]) + " --fault " + name;
    // NOLINTNEXTLINE(cert-env33-c): the command is this very program and a name from the list above
    FILE* pipe = popen(command.c_str(), "r");
    char line[256] = {};
    if (pipe == nullptr || std::fgets(line, sizeof line, pipe) == nullptr) line[0] = '\0';
    if (pipe != nullptr) pclose(pipe);
    const bool right = std::strcmp(line, expected) == 0;
    fmt::print("{}: {}{}", name, right ? "" : "WRONG: ", *line != 0 ? line : "nothing\n");
    wrong += right ? 0 : 1;
  }
  return wrong;
}
