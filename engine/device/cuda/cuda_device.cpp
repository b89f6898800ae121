#include "engine/device/cuda/cuda_device.hpp"

#include <algorithm>
#include <bit>
#include <deque>
#include <stdexcept>
#include <unordered_map>

#include <fmt/format.h>

#include "engine/device/cuda/cuda_context.hpp"
#include "engine/device/cuda/cuda_launch.hpp"
#include "engine/device/cuda/cuda_timing.hpp"
#include "engine/device/cuda/late_copy.hpp"
#include "engine/device/cuda/staging.hpp"
#include "engine/util/bytes.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::cuda {
namespace {

struct Buffer {
  OwnedMemory memory;
  std::size_t bytes = 0;
};

constexpr std::size_t kWord = sizeof(std::uint32_t);

class CudaDevice : public device::Device {
 public:
  CudaDevice(std::shared_ptr<const DriverApi> api, int index, const CudaOptions& options)
      : context_(std::move(api), index, options.deadline, options.sms),
        info_(describe_gpu(context_.api(), index, context_.device())),
        watch_(context_.api(), context_.device()) {
    if (options.sms > 0) info_.sms = options.sms;
  }

  ~CudaDevice() override { context_.make_current(); }
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  const device::DeviceInfo& info() const override { return info_; }
  bool lost() const override { return context_.lost(); }

  std::expected<device::KernelHandle, device::Fault> load(const KernelImage& image) override {
    if (auto entered = context_.enter(); !entered) return std::unexpected(entered.error());
    auto loaded = load_image(context_, image);
    if (!loaded) return std::unexpected(loaded.error());
    const device::KernelHandle handle{++last_handle_};
    kernels_.emplace(handle, std::move(*loaded));
    return handle;
  }

  void unload(device::KernelHandle kernel) override {
    context_.make_current();
    kernels_.erase(kernel);
  }

  device::BufferHandle allocate(std::size_t bytes) override {
    DevicePointer pointer = 0;
    auto done = context_.enter();
    // The driver refuses to allocate nothing, while a problem may well have an empty tensor.
    if (done)
      done = context_.check(context_->cuMemAlloc_v2(&pointer, std::max<std::size_t>(bytes, 1)),
                            "allocation");
    if (!done && !context_.lost()) {
      std::size_t free = 0;
      std::size_t total = 0;
      context_->cuMemGetInfo_v2(&free, &total);
      throw OutOfMemory(fmt::format("{}: {} bytes were asked, {} of {} are free: {}", info_.id,
                                    bytes, free, total, done.error().message));
    }
    const device::BufferHandle handle{++last_handle_};
    buffers_.emplace(handle, Buffer{OwnedMemory(context_, pointer), bytes});
    return handle;
  }

  void release(device::BufferHandle buffer) override {
    context_.make_current();
    const auto found = buffers_.find(buffer);
    if (found == buffers_.end()) return;
    // The driver gives the same memory to the next who asks, with what is in it. If this fails the
    // context is lost, and with it all that was there.
    if (found->second.memory.get() != 0 && !context_.lost())
      (void)set({buffer, 0, found->second.bytes});
    buffers_.erase(found);
  }

  std::expected<void, device::Fault> write(device::BufferHandle buffer, std::size_t offset,
                                           std::span<const std::byte> bytes) override {
    if (auto entered = context_.enter(); !entered) return entered;
    const auto staged = staging_.take(context_, bytes.size());
    copy_bytes(bytes.first(staged.size()), staged);
    const std::span<const std::byte> from = staged.empty() ? bytes : staged;
    if (auto sent = send(buffer, offset, from); !sent) return sent;
    return context_.synchronize("write");
  }

  std::expected<void, device::Fault> read(device::BufferHandle buffer, std::size_t offset,
                                          std::span<std::byte> bytes) override {
    if (auto entered = context_.enter(); !entered) return entered;
    const auto staged = staging_.take(context_, bytes.size());
    if (auto sent = fetch(buffer, offset, staged.empty() ? bytes : staged); !sent) return sent;
    auto done = context_.synchronize("read");
    if (done) copy_bytes(staged, bytes);
    return done;
  }

  std::expected<void, device::Fault> fill(const std::vector<device::BufferFill>& fills) override {
    if (auto entered = context_.enter(); !entered) return entered;
    return change({fills, {}});
  }

  void copies_through(std::span<std::byte> memory) override { staging_.lock_for_large(memory); }

  device::Argument address(device::BufferHandle buffer, std::size_t offset) override {
    return bytes_of(inside(buffer, offset, 0));
  }

  std::expected<device::Argument, device::Fault> tensor_map(const device::TensorMap& map) override {
    if (auto refusal = device::refusal_of(map)) {
      return std::unexpected(device::Fault{device::FaultKind::resources, std::move(*refusal)});
    }
    if (context_->cuTensorMapEncodeTiled == nullptr) return device::Device::tensor_map(map);
    if (auto entered = context_.enter(); !entered) return std::unexpected(entered.error());
    std::vector<std::uint32_t> steps = map.element_steps;
    if (steps.empty()) steps.assign(map.dims.size(), 1);
    TensorMapBits bits{};
    const Result code = context_->cuTensorMapEncodeTiled(
        &bits, static_cast<int>(map.element), static_cast<std::uint32_t>(map.dims.size()),
        std::bit_cast<void*>(inside(map.buffer, map.offset, 0)), map.dims.data(),
        map.strides.data(), map.box.data(), steps.data(), kTensorMapInterleaveNone,
        static_cast<int>(map.swizzle), kTensorMapL2Promotion128, map.nan_fill ? 1 : 0);
    if (auto done = context_.check(code, "tensor map"); !done) {
      return std::unexpected(done.error());
    }
    const auto bytes = std::as_bytes(std::span(bits.bytes));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  }

  std::expected<void, device::Fault> launch(const device::Launch& launch) override {
    if (auto entered = context_.enter(); !entered) return entered;
    LoadedImage& image = kernels_.at(launch.kernel);
    PreparedSteps prepared(*this, image, launch);
    if (auto admitted = prepared.admit(); !admitted) return admitted;
    if (auto sent = fill_constants(image, launch); !sent) return sent;
    if (auto sent = prepared.enqueue(); !sent) return sent;
    return context_.synchronize(prepared.doing());
  }

  // All of it in the stream, and one wait.
  std::expected<void, device::Fault> launch_between(
      std::span<const device::BufferWrite> writes, const device::Launch& launch,
      std::span<const device::BufferRead> reads) override {
    if (auto entered = context_.enter(); !entered) return entered;
    const auto staged =
        staging_.take(context_, std::max(device::total_bytes(writes), device::total_bytes(reads)));
    if (staged.empty()) return device::Device::launch_between(writes, launch, reads);
    LoadedImage& image = kernels_.at(launch.kernel);
    PreparedSteps prepared(*this, image, launch);
    if (auto admitted = prepared.admit(); !admitted) return admitted;
    std::size_t at = 0;
    for (const device::BufferWrite& write : writes) {
      const auto piece = staged.subspan(at, write.bytes.size());
      copy_bytes(write.bytes, piece);
      if (auto sent = send(write.buffer, write.offset, piece); !sent) return sent;
      at += piece.size();
    }
    if (auto sent = fill_constants(image, launch); !sent) return sent;
    if (auto sent = prepared.enqueue(); !sent) return sent;
    at = 0;
    for (const device::BufferRead& read : reads) {
      const auto piece = staged.subspan(at, read.bytes.size());
      if (auto sent = fetch(read.buffer, read.offset, piece); !sent) return sent;
      at += piece.size();
    }
    if (auto done = context_.synchronize(prepared.doing()); !done) return done;
    at = 0;
    for (const device::BufferRead& read : reads) {
      copy_bytes(staged.subspan(at, read.bytes.size()), read.bytes);
      at += read.bytes.size();
    }
    return {};
  }

  std::expected<void, device::Fault> launch_exchanging(
      const device::Launch& launch, int ahead, const device::BufferChanges& restore,
      std::span<const device::BufferCopy> copies) override {
    if (auto entered = context_.enter(); !entered) return entered;
    LoadedImage& image = kernels_.at(launch.kernel);
    PreparedSteps prepared(*this, image, launch);
    if (auto admitted = prepared.admit(); !admitted) return admitted;
    if (auto sent = fill_constants(image, launch); !sent) return sent;
    for (int i = 0; i < ahead; ++i) {
      if (auto sent = change(restore); !sent) return sent;
      if (auto sent = prepared.enqueue(); !sent) return sent;
    }
    if (auto sent = exchange(copies, prepared.programmatic()); !sent) return sent;
    if (auto sent = fill_constants(image, launch); !sent) return sent;
    if (auto sent = prepared.enqueue(); !sent) return sent;
    return context_.synchronize(prepared.doing());
  }

  std::expected<device::Timing, device::Fault> time(const device::Launch& launch,
                                                    const device::TimingPlan& plan) override {
    if (auto entered = context_.enter(); !entered) return std::unexpected(entered.error());
    LoadedImage& image = kernels_.at(launch.kernel);
    PreparedSteps prepared(*this, image, launch);
    if (auto admitted = prepared.admit(); !admitted) {
      return std::unexpected(admitted.error());
    }
    if (auto sent = fill_constants(image, launch); !sent) return std::unexpected(sent.error());
    const TimedWork timed{.launch = [&] { return prepared.enqueue(); },
                          .steps = std::max<std::size_t>(launch.steps.size(), 1),
                          .doing = prepared.doing(),
                          .restore = [&] { return change(plan.restore); },
                          .before_each = [&] { return change(plan.before_each); }};
    return time_launch(context_, timed, plan, watch_, flush_, lead_);
  }

  std::optional<double> joules() override { return watch_.joules(); }

 private:
  // A launch's steps in the driver's terms, for one stream. Each begins when the one before is over:
  // the stream sees to that, and so does a graph that was captured from it.
  class PreparedSteps {
   public:
    PreparedSteps(CudaDevice& device, LoadedImage& image, const device::Launch& launch)
        : device_(device), steps_(device::steps_of(launch)) {
      for (const device::LaunchStep& step : steps_)
        if (const auto* kernel = std::get_if<device::KernelStep>(&step))
          kernels_.emplace_back(image.entries.at(kernel->entry), kernel->config,
                                device.values_of(kernel->arguments), device.context_.stream());
    }

    std::expected<void, device::Fault> admit() {
      for (PreparedLaunch& kernel : kernels_)
        if (auto admitted = kernel.admit(device_.context_); !admitted) return admitted;
      return {};
    }
    std::expected<void, device::Fault> enqueue() {
      auto next = kernels_.begin();
      for (const device::LaunchStep& step : steps_) {
        std::expected<void, device::Fault> sent;
        if (const auto* fill = std::get_if<device::BufferFill>(&step))
          sent = device_.set(*fill);
        else if (const auto* copy = std::get_if<device::BufferCopy>(&step))
          sent = device_.copy(*copy);
        else
          sent = (next++)->enqueue(device_.context_);
        if (!sent) return sent;
      }
      return {};
    }
    bool programmatic() const {
      return std::ranges::any_of(steps_, [](const device::LaunchStep& step) {
        const auto* kernel = std::get_if<device::KernelStep>(&step);
        return kernel != nullptr && kernel->config.programmatic;
      });
    }
    // A Fault of a kernel is told when all are waited for: of which one, nobody says.
    std::string doing() const {
      std::string names;
      for (const PreparedLaunch& kernel : kernels_)
        names += (names.empty() ? "" : ", then ") + kernel.doing();
      return names;
    }

   private:
    CudaDevice& device_;
    std::vector<device::LaunchStep> steps_;
    std::deque<PreparedLaunch> kernels_;
  };

  // Into the stream.
  std::expected<void, device::Fault> send(device::BufferHandle buffer, std::size_t offset,
                                          std::span<const std::byte> bytes) {
    const DevicePointer to = inside(buffer, offset, bytes.size());
    if (bytes.empty()) return {};
    const Result code =
        context_->cuMemcpyHtoDAsync_v2(to, bytes.data(), bytes.size(), context_.stream());
    return context_.check(code, "write");
  }
  // Into the stream, or into the graph that it is captured for: words, and what is no whole one.
  std::expected<void, device::Fault> set(const device::BufferFill& fill) {
    const DevicePointer to = inside(fill.buffer, fill.offset, fill.bytes);
    const std::size_t rest = to % kWord == 0 ? fill.bytes % kWord : fill.bytes;
    const std::size_t words = (fill.bytes - rest) / kWord;
    std::expected<void, device::Fault> sent;
    if (words > 0)
      sent = context_.check(
          context_->cuMemsetD32Async(to, fill.value * 0x01010101U, words, context_.stream()),
          "filling a buffer");
    if (sent && rest > 0)
      sent = context_.check(
          context_->cuMemsetD8Async(to + words * kWord, fill.value, rest, context_.stream()),
          "filling a buffer");
    return sent;
  }
  std::expected<void, device::Fault> copy(const device::BufferCopy& copy) {
    const Result code = context_->cuMemcpyDtoDAsync_v2(
        inside(copy.to, copy.to_offset, copy.bytes),
        inside(copy.from, copy.from_offset, copy.bytes), copy.bytes, context_.stream());
    return context_.check(code, "copy between buffers");
  }
  std::expected<void, device::Fault> exchange(std::span<const device::BufferCopy> copies,
                                              bool late) {
    if (late)
      if (auto ready = late_copy_.prepare(context_); !ready) return ready;
    for (const device::BufferCopy& each : copies) {
      auto sent =
          late ? late_copy_.enqueue(context_, inside(each.from, each.from_offset, each.bytes),
                                    inside(each.to, each.to_offset, each.bytes), each.bytes)
               : copy(each);
      if (!sent) return sent;
    }
    return {};
  }
  std::expected<void, device::Fault> change(const device::BufferChanges& changes) {
    for (const device::BufferFill& each : changes.fills)
      if (auto sent = set(each); !sent) return sent;
    for (const device::BufferCopy& each : changes.copies)
      if (auto sent = copy(each); !sent) return sent;
    return {};
  }
  // Into the stream.
  std::expected<void, device::Fault> fill_constants(const LoadedImage& image,
                                                    const device::Launch& launch) {
    for (const device::ConstantData& data : launch.constants) {
      DevicePointer to{};
      std::size_t room = 0;
      const Result found =
          context_->cuModuleGetGlobal_v2(&to, &room, image.module.get(), data.name.c_str());
      if (found == kErrorNotFound) continue;
      if (auto known = context_.check(found, "looking for " + data.name); !known) return known;
      if (data.bytes > room) return std::unexpected(device::too_small(data, room));
      const Result code = context_->cuMemcpyDtoDAsync_v2(
          to, inside(data.from, data.offset, data.bytes), data.bytes, context_.stream());
      if (auto sent = context_.check(code, "filling " + data.name); !sent) return sent;
    }
    return {};
  }
  std::expected<void, device::Fault> fetch(device::BufferHandle buffer, std::size_t offset,
                                           std::span<std::byte> bytes) {
    const DevicePointer from = inside(buffer, offset, bytes.size());
    if (bytes.empty()) return {};
    const Result code =
        context_->cuMemcpyDtoHAsync_v2(bytes.data(), from, bytes.size(), context_.stream());
    return context_.check(code, "read");
  }

  DevicePointer inside(device::BufferHandle handle, std::size_t offset, std::size_t bytes) const {
    const Buffer& buffer = buffers_.at(handle);
    if (offset > buffer.bytes || bytes > buffer.bytes - offset) {
      throw std::out_of_range(
          fmt::format("{} bytes at {} are not inside a buffer of {}", bytes, offset, buffer.bytes));
    }
    return buffer.memory.get() + offset;
  }

  std::vector<std::vector<std::byte>> values_of(
      const std::vector<device::Argument>& arguments) const {
    std::vector<std::vector<std::byte>> values;
    values.reserve(arguments.size());
    for (const device::Argument& argument : arguments) {
      if (const auto* buffer = std::get_if<device::BufferHandle>(&argument)) {
        values.push_back(bytes_of(inside(*buffer, 0, 0)));
      } else {
        values.push_back(std::get<std::vector<std::byte>>(argument));
      }
    }
    return values;
  }

  // Declared first, destroyed last: what follows belongs to it.
  CudaContext context_;
  device::DeviceInfo info_;
  GpuWatch watch_;
  L2Flush flush_;
  Lead lead_;
  LateCopy late_copy_;
  Staging staging_;
  std::uint64_t last_handle_ = 0;
  std::unordered_map<device::KernelHandle, LoadedImage> kernels_;
  std::unordered_map<device::BufferHandle, Buffer> buffers_;
};

}  // namespace

std::unique_ptr<device::Device> open_cuda(int index, const CudaOptions& options) {
  return std::make_unique<cuda::CudaDevice>(cuda::load_driver(), index, options);
}

}  // namespace fa_tune::cuda
