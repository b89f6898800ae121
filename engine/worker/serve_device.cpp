#include <array>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "engine/util/error.hpp"
#include "engine/worker/device_service.hpp"
#include "engine/worker/sandbox.hpp"
#include "engine/worker/shared_window.hpp"
#include "engine/worker/worker_main.hpp"

namespace fa_tune::worker {
namespace {

constexpr std::uint32_t kThreads = 64;
constexpr std::uint32_t kBlocks = 32;
constexpr std::size_t kElements = std::size_t{kThreads} * kBlocks;

// data[i] = data[i] * 3 + (threads of the block - 1 - thread), the latter through shared memory and
// a barrier. For the oldest GPUs that today's drivers know.
constexpr const char* kKernel = "fa_tune_health";
constexpr const char* kPtx = R"(.version 6.4
.target sm_75
.address_size 64
.visible .entry fa_tune_health(.param .u64 data) {
  .shared .align 4 .b8 room[256];
  .reg .b32 %r<12>;
  .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [data];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, room;
  mad.lo.u32 %r5, %r2, %r3, %r1;
  mul.wide.u32 %rd3, %r5, 4;
  add.u64 %rd4, %rd2, %rd3;
  shl.b32 %r6, %r1, 2;
  add.u32 %r7, %r4, %r6;
  st.shared.u32 [%r7], %r1;
  bar.sync 0;
  sub.u32 %r8, 252, %r6;
  add.u32 %r9, %r4, %r8;
  ld.shared.u32 %r10, [%r9];
  ld.global.u32 %r11, [%rd4];
  mad.lo.u32 %r11, %r11, 3, %r10;
  st.global.u32 [%rd4], %r11;
  ret;
}
)";

[[noreturn]] void fail(const device::Device& device, const std::string& what) {
  throw MachineError(fmt::format("{} does not compute any more: {}", device.info().id, what));
}

template <typename T>
T need(const device::Device& device, std::expected<T, device::Fault> outcome) {
  if (!outcome) fail(device, outcome.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*outcome);
}

// Runs a small kernel whose results are known. Throws MachineError where the device does not come
// to them: it is what a driver or a GPU can be after a kernel that had to be killed. A device that
// takes no PTX of anybody's is asked for a copy there and back alone.
void check_health(device::Device& device) {
  std::array<std::uint32_t, kElements> numbers{};
  for (std::uint32_t i = 0; i < kElements; ++i) numbers[i] = i * 2654435761U;
  const auto before = numbers;
  const device::BufferHandle buffer = device.allocate(sizeof numbers);
  need(device, device.write(buffer, 0, std::as_bytes(std::span(numbers))));
  const KernelImage image{BinaryKind::ptx, "sm_75", kKernel, kPtx, {}};
  const auto kernel = device.load(image);
  if (kernel) {
    device::Launch launch;
    launch.kernel = *kernel;
    launch.config.grid.x = kBlocks;
    launch.config.block.x = kThreads;
    launch.arguments.emplace_back(buffer);
    need(device, device.launch(launch));
  } else if (device.lost()) {
    fail(device, kernel.error().message);
  }
  need(device, device.read(buffer, 0, std::as_writable_bytes(std::span(numbers))));
  for (std::uint32_t i = 0; i < kElements; ++i) {
    const std::uint32_t expected =
        kernel ? before[i] * 3 + (kThreads - 1 - i % kThreads) : before[i];
    if (numbers[i] != expected)
      fail(device, fmt::format("element {} of the test is {}, not {}", i, numbers[i], expected));
  }
  if (kernel) device.unload(*kernel);
  device.release(buffer);
}

// The engine gives it as the first file after the standard three.
constexpr int kWindowFile = 3;

}  // namespace

int serve_device(WorkerEnd& end, const DeviceWork& work) {
  std::unique_ptr<Window> window;
  std::unique_ptr<device::Device> device;
  const SandboxKind kind = work.emulated ? SandboxKind::interpreter : SandboxKind::driver;
  const message::Answer opened = answer_to([&] {
    limit_privileges(kind);
    window = std::make_unique<Window>(kWindowFile);
    device = work.open();
    device->copies_through(window->bytes());
    if (work.health) check_health(*device);
    limit_worker(kind, work.memory);
    return message::DeviceOpened{message::kVersion, device->info()};
  });
  end.send(opened);
  if (std::holds_alternative<message::Failed>(opened)) return 0;
  DeviceService service(*device, window->bytes());
  while (const auto request = end.receive()) {
    const auto answer = service.answer(*request);
    if (!answer) continue;
    end.send(*answer);
    const auto* faulted = std::get_if<message::Faulted>(&*answer);
    if (faulted != nullptr && faulted->ends) break;
  }
  return 0;
}

}  // namespace fa_tune::worker
