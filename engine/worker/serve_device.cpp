#include <array>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "engine/util/error.hpp"
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

// One device and the requests it is asked.
class DeviceService {
 public:
  DeviceService(device::Device& device, const Window& window) : device_(device), window_(window) {}

  message::Answer answer(const message::Request& request) {
    return answer_to([&] { return std::visit([this](const auto& r) { return on(r); }, request); });
  }

 private:
  using Answer = message::Answer;

  Answer faulted(device::Fault fault) const {
    return message::Faulted{std::move(fault), device_.lost()};
  }
  Answer done_or(std::expected<void, device::Fault> outcome) const {
    if (outcome) return message::Done{device_.take_notes()};
    return faulted(std::move(outcome.error()));
  }
  std::span<std::byte> piece(std::uint64_t at, std::uint64_t bytes) const {
    if (at > Window::kBytes || bytes > Window::kBytes - at)
      throw std::out_of_range("a piece that is not inside the window");
    return window_.bytes().subspan(at, bytes);
  }

  Answer on(const message::Load& load) {
    auto kernel = device_.load(load.image);
    if (!kernel) return faulted(std::move(kernel.error()));
    return message::Loaded{*kernel};
  }
  Answer on(const message::Unload& unload) {
    device_.unload(unload.kernel);
    return message::Done{};
  }
  Answer on(const message::Allocate& allocate) {
    message::Allocated allocated{device_.allocate(allocate.bytes), 0};
    const device::Argument address = device_.address(allocated.buffer, 0);
    const auto& bytes = std::get<std::vector<std::byte>>(address);
    std::memcpy(&allocated.address, bytes.data(), sizeof allocated.address);
    return allocated;
  }
  Answer on(const message::Release& release) {
    device_.release(release.buffer);
    return message::Done{};
  }
  Answer on(const message::Write& write) {
    return done_or(device_.write(write.buffer, write.offset, piece(0, write.bytes)));
  }
  Answer on(const message::Read& read) {
    return done_or(device_.read(read.buffer, read.offset, piece(0, read.bytes)));
  }
  Answer on(const message::Step& step) {
    std::vector<device::BufferWrite> writes;
    for (std::uint64_t at = 0; const message::Write& write : step.writes) {
      writes.push_back({write.buffer, write.offset, piece(at, write.bytes)});
      at += write.bytes;
    }
    std::vector<device::BufferRead> reads;
    for (std::uint64_t at = 0; const message::Read& read : step.reads) {
      reads.push_back({read.buffer, read.offset, piece(at, read.bytes)});
      at += read.bytes;
    }
    return done_or(device_.launch_between(writes, step.launch, reads));
  }
  Answer on(const message::Map& map) {
    auto mapped = device_.tensor_map(map.map);
    if (!mapped) return faulted(std::move(mapped.error()));
    return message::Mapped{std::get<std::vector<std::byte>>(*mapped)};
  }
  Answer on(const message::Run& run) { return done_or(device_.launch(run.launch)); }
  Answer on(const message::Exchange& exchange) {
    return done_or(device_.launch_exchanging(exchange.launch, exchange.ahead, exchange.restore,
                                             exchange.copies));
  }
  Answer on(const message::Time& time) {
    auto timing = device_.time(time.launch, time.plan);
    if (!timing) return faulted(std::move(timing.error()));
    return std::move(*timing);
  }
  Answer on(const message::Fill& fill) { return done_or(device_.fill(fill.fills)); }
  Answer on(const message::Energy&) {
    const auto joules = device_.joules();
    return message::Joules{joules.has_value(), joules.value_or(0)};
  }
  Answer on(const message::Compile&) { throw std::logic_error("a device compiles nothing"); }

  device::Device& device_;
  const Window& window_;
};

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
  DeviceService service(*device, *window);
  std::optional<message::Answer> unsaid;
  while (const auto request = end.receive()) {
    message::Answer answer = service.answer(*request);
    const bool trouble = !std::holds_alternative<message::Done>(answer);
    if (!message::is_answered(*request)) {
      if (trouble && !unsaid) unsaid = std::move(answer);
      continue;
    }
    if (unsaid) answer = std::move(*std::exchange(unsaid, std::nullopt));
    end.send(answer);
    const auto* faulted = std::get_if<message::Faulted>(&answer);
    if (faulted != nullptr && faulted->ends) break;
  }
  return 0;
}

}  // namespace fa_tune::worker
