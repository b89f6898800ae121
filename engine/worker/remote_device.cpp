#include "engine/worker/remote_device.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>

#include <fmt/core.h>

#include "engine/device/gpu_lease.hpp"
#include "engine/util/bytes.hpp"
#include "engine/util/error.hpp"
#include "engine/worker/buffer_free_list.hpp"
#include "engine/worker/shared_window.hpp"
#include "engine/worker/worker_handles.hpp"
#include "engine/worker/worker_supervisor.hpp"

namespace fa_tune::worker {
namespace {

using Milliseconds = Deadlines::Milliseconds;

class RemoteDevice final : public device::Device {
 public:
  explicit RemoteDevice(const RemoteOptions& options)
      : deadlines_(options.deadlines),
        parks_buffers_(options.parks_buffers),
        offloads_(options.offloads),
        worker_(options, window_),
        lease_(worker_.info().uuid) {}

  const device::DeviceInfo& info() const override { return worker_.info(); }
  bool lost() const override { return worker_.lost(); }
  std::string lost_because() const override { return worker_.lost_because(); }
  bool apart() const override { return true; }
  bool offloads() const override { return offloads_; }
  std::span<const device::Fault> deaths() const override { return worker_.deaths(); }
  std::uint64_t life() const override { return static_cast<std::uint64_t>(worker_.generation()); }
  void note_incumbent(double us) override { incumbent_us_ = us; }
  // A worker that ends over it is no trouble of a kernel's.
  std::optional<double> joules() override {
    if (!worker_.ready()) return std::nullopt;
    try {
      const auto told = worker().ask<message::Joules>(message::Energy{}, deadlines_.copy, "energy");
      return told && told->known ? std::optional(told->joules) : std::nullopt;
    } catch (const DeviceGone&) {
      return std::nullopt;
    }
  }
  bool ready() override { return worker_.ready(); }
  bool renew() override { return worker_.renew(); }
  std::vector<std::string> take_notes() override { return std::exchange(notes_, {}); }

  std::expected<void, device::Fault> offload(const std::string& work,
                                             const TakeAnswer& take) override {
    if (!offloads_) return device::Device::offload(work, take);
    return worker().offload(work, take, deadlines_.offload);
  }

  std::expected<device::KernelHandle, device::Fault> load(const KernelImage& image) override {
    Kernel kernel{image, {}, 0};
    if (auto loaded = bring_up(kernel); !loaded) return std::unexpected(loaded.error());
    const device::KernelHandle handle{++last_handle_};
    kernels_.emplace(handle, std::move(kernel));
    return handle;
  }

  void unload(device::KernelHandle kernel) override {
    const auto found = kernels_.find(kernel);
    if (found == kernels_.end()) return;
    const Kernel gone = std::move(found->second);
    kernels_.erase(found);
    if (worker_.is_here(gone.generation)) worker_.tell(message::Unload{gone.handle});
  }

  device::BufferHandle allocate(std::size_t bytes) override {
    const device::BufferHandle handle{++last_handle_};
    std::optional<RemoteBuffer> buffer;
    // The worker may have ended since.
    if (worker_.ready()) buffer = parked_.take(bytes, worker_.generation());
    if (!buffer) buffer = allocate_there(bytes);
    buffers_.emplace(handle, *buffer);
    return handle;
  }

  void release(device::BufferHandle buffer) override {
    const auto found = buffers_.find(buffer);
    if (found == buffers_.end()) return;
    const RemoteBuffer gone = found->second;
    buffers_.erase(found);
    if (!worker_.is_here(gone.generation)) return;
    const bool parks = parks_buffers_ && gone.bytes <= BufferFreeList::kMost;
    if (!parks) {
      worker().tell(message::Release{gone.handle});
      return;
    }
    fill_later(gone, {gone.handle, 0, gone.bytes});
    if (parked_.put(gone)) return;
    release_parked();
    parked_.put(gone);
  }

  std::expected<void, device::Fault> write(device::BufferHandle buffer, std::size_t offset,
                                           std::span<const std::byte> bytes) override {
    const auto held = find(buffer);
    if (!held) return std::unexpected(held.error());
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t piece = std::min(bytes.size() - at, Window::kBytes);
      copy_large(bytes.subspan(at, piece), window_.bytes());
      if (auto done = worker().ask<message::Done>(message::Write{held->handle, offset + at, piece},
                                                  deadlines_.copy, "write");
          !done)
        return std::unexpected(done.error());
      at += piece;
    }
    return {};
  }

  std::expected<void, device::Fault> read(device::BufferHandle buffer, std::size_t offset,
                                          std::span<std::byte> bytes) override {
    const auto held = find(buffer);
    if (!held) return std::unexpected(held.error());
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t piece = std::min(bytes.size() - at, Window::kBytes);
      if (auto done = worker().ask<message::Done>(message::Read{held->handle, offset + at, piece},
                                                  deadlines_.copy, "read");
          !done)
        return std::unexpected(done.error());
      copy_large(window_.bytes().first(piece), bytes.subspan(at));
      at += piece;
    }
    return {};
  }

  std::expected<void, device::Fault> fill(const std::vector<device::BufferFill>& fills) override {
    for (const device::BufferFill& each : fills) {
      const auto held = find(each.buffer);
      if (!held) return std::unexpected(held.error());
      fill_later(*held, {held->handle, each.offset, each.bytes, each.value});
    }
    return {};
  }

  device::Argument address(device::BufferHandle buffer, std::size_t offset) override {
    const std::uint64_t address = buffers_.at(buffer).address + offset;
    std::vector<std::byte> bytes(sizeof address);
    std::memcpy(bytes.data(), &address, sizeof address);
    return bytes;
  }

  std::expected<device::Argument, device::Fault> tensor_map(const device::TensorMap& map) override {
    const auto held = find(map.buffer);
    if (!held) return std::unexpected(held.error());
    message::Map request{map};
    request.map.buffer = held->handle;
    // A trial wants mostly those of the one before: of the same buffers, if they were parked.
    const std::string key = std::to_string(held->generation) + encode(message::Request(request));
    if (const auto known = maps_.find(key); known != maps_.end())
      return device::Argument(known->second);
    auto mapped = worker().ask<message::Mapped>(request, deadlines_.copy, "tensor map");
    if (!mapped) return std::unexpected(mapped.error());
    if (maps_.size() >= kMostMaps) maps_.clear();
    return device::Argument(maps_[key] = std::move(mapped->bytes));
  }

  std::expected<void, device::Fault> launch(const device::Launch& launch) override {
    const auto there = translate(launch);
    if (!there) return std::unexpected(there.error());
    const auto held = lease_.hold(device::GpuLease::Use::running);
    return run(message::Run{*there}, 1);
  }

  // In one request, but for what does not fit in the window.
  std::expected<void, device::Fault> launch_between(
      std::span<const device::BufferWrite> writes, const device::Launch& launch,
      std::span<const device::BufferRead> reads) override {
    if (device::total_bytes(writes) > Window::kBytes)
      return device::Device::launch_between(writes, launch, reads);
    const auto there = translate(launch);
    if (!there) return std::unexpected(there.error());
    message::Step step{{}, *there, {}};
    std::size_t at = 0;
    for (const device::BufferWrite& write : writes) {
      const auto held = find(write.buffer);
      if (!held) return std::unexpected(held.error());
      step.writes.push_back({held->handle, write.offset, write.bytes.size()});
      copy_bytes(write.bytes, window_.bytes().subspan(at));
      at += write.bytes.size();
    }
    std::vector<device::BufferRead> with_it, later;
    std::size_t room = Window::kBytes;
    for (const device::BufferRead& each : reads) {
      const auto held = find(each.buffer);
      if (!held) return std::unexpected(held.error());
      if (each.bytes.size() > room) {
        later.push_back(each);
        continue;
      }
      room -= each.bytes.size();
      with_it.push_back(each);
      step.reads.push_back({held->handle, each.offset, each.bytes.size()});
    }
    const auto lease = lease_.hold(device::GpuLease::Use::running);
    // The copies, of no more than the window holds, are a hundredth of that.
    if (auto done = run(std::move(step), 1); !done) return done;
    at = 0;
    for (const device::BufferRead& each : with_it) {
      copy_bytes(window_.bytes().subspan(at, each.bytes.size()), each.bytes);
      at += each.bytes.size();
    }
    for (const device::BufferRead& each : later)
      if (auto read_it = read(each.buffer, each.offset, each.bytes); !read_it) return read_it;
    return {};
  }

  // One request, so that nothing but the device comes between the launches.
  std::expected<void, device::Fault> launch_exchanging(
      const device::Launch& launch, int ahead, const device::BufferChanges& restore,
      std::span<const device::BufferCopy> copies) override {
    const auto there = translate(launch);
    if (!there) return std::unexpected(there.error());
    auto restored = translated(restore);
    if (!restored) return std::unexpected(restored.error());
    auto changes = translated(device::BufferChanges{{}, {copies.begin(), copies.end()}});
    if (!changes) return std::unexpected(changes.error());
    const auto held = lease_.hold(device::GpuLease::Use::running);
    return run(message::Exchange{*there, ahead, std::move(*restored), std::move(changes->copies)},
               ahead + 1);
  }

  std::expected<device::Timing, device::Fault> time(const device::Launch& launch,
                                                    const device::TimingPlan& plan) override {
    const auto there = translate(launch);
    if (!there) return std::unexpected(there.error());
    auto changes = translated(plan.before_each);
    if (!changes) return std::unexpected(changes.error());
    auto restored = translated(plan.restore);
    if (!restored) return std::unexpected(restored.error());
    message::Time request{*there, plan};
    request.plan.before_each = std::move(*changes);
    request.plan.restore = std::move(*restored);
    const double launches = 1.0 * plan.launches_per_sample * (plan.samples + plan.warm_up_samples);
    const auto held = lease_.hold(device::GpuLease::Use::timing);
    return worker().ask<device::Timing>(std::move(request), allowed(deadlines_.time, launches),
                                        "timing");
  }

 private:
  struct Kernel {
    KernelImage image;
    device::KernelHandle handle{};  // the worker's
    int generation = 0;             // the worker that has it
  };

  // More than finals need, of some 40 shapes.
  static constexpr std::size_t kMostMaps = 1024;

  // A trial wipes some 70 buffers, mostly one after another: they wait for the next request that
  // could tell, and go ahead of it in one message.
  void fill_later(const RemoteBuffer& buffer, const device::BufferFill& fill) {
    if (fills_generation_ != buffer.generation) fills_.fills.clear();
    fills_generation_ = buffer.generation;
    fills_.fills.push_back(fill);
  }
  WorkerSupervisor& worker() {
    const std::pair now(worker_.generation(), incumbent_us_);
    if (told_incumbent_ != now && incumbent_us_ > 0 && worker_.is_here(now.first)) {
      worker_.tell(message::Incumbent{incumbent_us_});
      told_incumbent_ = now;
    }
    if (!fills_.fills.empty() && worker_.is_here(fills_generation_)) worker_.tell(fills_);
    fills_.fills.clear();
    return worker_;
  }

  std::expected<void, device::Fault> run(const message::Request& request, int launches) {
    auto done =
        worker().ask<message::Done>(request, allowed(deadlines_.launch, launches), "launch");
    if (!done) return std::unexpected(done.error());
    std::ranges::move(done->notes, std::back_inserter(notes_));
    return {};
  }

  void release_parked() {
    for (const RemoteBuffer& buffer : parked_.drop())
      worker().tell(message::Release{buffer.handle});
  }

  // If the device is lost, or a worker ends over it, it is one of nothing, and the next call says
  // so.
  RemoteBuffer allocate_there(std::size_t bytes) {
    const auto try_it = [&] {
      return worker().ask<message::Allocated>(message::Allocate{bytes}, deadlines_.copy,
                                              "allocation");
    };
    const auto allocated = [&] {
      try {
        return try_it();
      } catch (const OutOfMemory&) {
        // What is parked may be what is missing.
        release_parked();
        return try_it();
      }
    }();
    if (!allocated) return {.bytes = bytes};
    return {allocated->buffer, worker_.generation(), allocated->address, bytes};
  }

  // Loads a kernel into the worker there is.
  std::expected<void, device::Fault> bring_up(Kernel& kernel) {
    auto loaded =
        worker().ask<message::Loaded>(message::Load{kernel.image}, deadlines_.load, "load");
    if (!loaded) return std::unexpected(loaded.error());
    kernel.handle = loaded->kernel;
    kernel.generation = worker_.generation();
    return {};
  }

  // The launch in the worker's own handles.
  std::expected<device::Launch, device::Fault> translate(const device::Launch& launch) {
    const auto kernel = kernels_.find(launch.kernel);
    if (kernel == kernels_.end())
      return std::unexpected(
          device::Fault{device::FaultKind::load_failed, "a launch of a kernel that is not loaded"});
    if (!worker_.is_here(kernel->second.generation))
      if (auto loaded = bring_up(kernel->second); !loaded) return std::unexpected(loaded.error());
    device::Launch there = launch;
    there.kernel = kernel->second.handle;
    if (auto done = exchange_buffers(there, handle_there()); !done)
      return std::unexpected(done.error());
    return there;
  }

  std::expected<device::BufferChanges, device::Fault> translated(
      device::BufferChanges changes) const {
    if (auto done = exchange_buffers(changes, handle_there()); !done)
      return std::unexpected(done.error());
    return changes;
  }

  BufferOf handle_there() const {
    return
        [this](device::BufferHandle buffer) -> std::expected<device::BufferHandle, device::Fault> {
          const auto held = find(buffer);
          if (!held) return std::unexpected(held.error());
          return held->handle;
        };
  }

  std::expected<RemoteBuffer, device::Fault> find(device::BufferHandle buffer) const {
    if (lost()) {
      worker_.throw_if_disturbed();
      return std::unexpected(worker_.lost_fault());
    }
    const auto found = buffers_.find(buffer);
    if (found == buffers_.end())
      return std::unexpected(
          device::Fault{device::FaultKind::out_of_bounds, "a buffer that was released"});
    if (!worker_.is_here(found->second.generation)) {
      worker_.throw_if_disturbed();
      return std::unexpected(
          device::Fault{device::FaultKind::gone, "a buffer that went with the process it was in"});
    }
    return found->second;
  }

  Milliseconds allowed(Milliseconds without_incumbent, double launches) const {
    if (incumbent_us_ <= 0 || deadlines_.incumbents <= 0) return without_incumbent;
    const double longest = deadlines_.incumbents * incumbent_us_ * launches / 1000;
    return std::max(deadlines_.least, Milliseconds(std::lround(longest)));
  }

  Deadlines deadlines_;
  bool parks_buffers_;
  bool offloads_;
  Window window_;
  WorkerSupervisor worker_;
  // Held while something runs there, from before the deadline of the request on.
  device::GpuLease lease_;
  double incumbent_us_ = 0;
  std::pair<int, double> told_incumbent_;  // the worker that was told, and what
  std::uint64_t last_handle_ = 0;
  std::vector<std::string> notes_;  // of launches, which nobody has taken
  std::map<device::KernelHandle, Kernel> kernels_;
  std::map<device::BufferHandle, RemoteBuffer> buffers_;
  BufferFreeList parked_;
  message::Fill fills_;  // in the worker's own handles
  int fills_generation_ = 0;
  std::map<std::string, std::vector<std::byte>> maps_;  // by request
};

}  // namespace

std::unique_ptr<device::Device> open_remote(const RemoteOptions& options) {
  return std::make_unique<RemoteDevice>(options);
}

}  // namespace fa_tune::worker
