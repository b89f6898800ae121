#include "engine/gate/reference_run.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include "engine/base/error.hpp"
#include "engine/base/parallel.hpp"
#include "engine/base/parallel_bytes.hpp"
#include "engine/gate/arguments.hpp"
#include "engine/gate/compare.hpp"
#include "engine/gate/guarded_buffer.hpp"

namespace fa_tune {
namespace {

// Up to so much data an emulator watches the reference as it does kernels under test.
constexpr std::size_t kMostWatched = std::size_t{1} << 20;

// No byte of it is as GuardedBuffer::fill() leaves outputs.
constexpr std::byte kOtherFill{0x4d};

[[noreturn]] void fail(const ReferenceCall& call, const Instance& instance,
                       const std::string& what) {
  throw UserError(fmt::format("the reference kernel {} at {} with inputs={} seed={}: {}",
                              call.source.kernel, to_json(instance.shape), to_text(instance.inputs),
                              instance.seed, what));
}

// The buffers of one instance, and two launches in them.
class ReferenceLaunch {
 public:
  ReferenceLaunch(Device& device, const BoundKernel& kernel, const ReferenceCall& call,
                  const Instance& instance)
      : device_(device), call_(call), instance_(instance) {
    for (const Tensor& tensor : instance.tensors) buffers_.emplace_back(device, tensor);
    auto launch =
        make_launch(device, kernel, instance, [&](std::size_t i) { return buffers_[i].place(); });
    if (!launch) fail(call, instance, launch.error().message);
    launch_ = std::move(*launch);
  }

  std::vector<std::vector<double>> results() {
    std::size_t bytes = 0;
    for (const GuardedBuffer& buffer : buffers_) bytes += buffer.data_bytes();
    if (device_.info().checks && bytes <= kMostWatched) launch_.checks = Checks::all();
    run({});
    std::vector<std::vector<std::byte>> first;
    std::vector<std::vector<double>> values;
    for (const GuardedBuffer& buffer : buffers_) {
      if (!is_result(buffer.tensor().role)) continue;
      first.emplace_back(buffer.data().begin(), buffer.data().end());
      values.push_back(decode(buffer));
    }
    if (!call_.twice) return values;
    launch_.checks = {};
    if (device_.info().checks) launch_.schedule = 1;
    run(kOtherFill);
    compare_with(first);
    return values;
  }

 private:
  // With other contents in the outputs than fill() gives them, if so asked.
  void run(std::optional<std::byte> other) {
    std::vector<BufferWrite> writes;
    std::vector<BufferRead> reads;
    std::vector<std::byte> contents;
    for (GuardedBuffer& buffer : buffers_) {
      buffer.fill(writes);
      buffer.fetch(reads);
      if (other && !is_given(buffer.tensor().role))
        contents.resize(std::max(contents.size(), buffer.data_bytes()), *other);
    }
    for (const GuardedBuffer& buffer : buffers_)
      if (other && !is_given(buffer.tensor().role))
        writes.push_back({buffer.place().buffer, buffer.place().offset,
                          std::span(contents).first(buffer.data_bytes())});
    if (const auto done = device_.launch_between(writes, launch_, reads); !done)
      fail(call_, instance_, to_text(done.error().kind) + ": " + done.error().message);
    for (const GuardedBuffer& buffer : buffers_) {
      if (const auto damage = buffer.guard_damage()) fail(call_, instance_, *damage);
      if (const auto change = buffer.input_change()) fail(call_, instance_, *change);
    }
  }

  std::vector<double> decode(const GuardedBuffer& buffer) const {
    const Tensor& tensor = buffer.tensor();
    std::vector<double> values(static_cast<std::size_t>(tensor.elements()));
    // The first of each piece, if there is one.
    std::vector<std::size_t> odd(element_pieces(values.size()) + 1, values.size());
    in_pieces(values.size(), [&](std::size_t first, std::size_t end) {
      for (std::size_t i = end; i-- > first;) {
        values[i] = element_value(tensor.type, buffer.data(), i);
        if (!std::isfinite(values[i])) odd[first / elements_of_piece] = i;
      }
    });
    const std::size_t i = std::ranges::min(odd);
    if (i < values.size())
      fail(call_, instance_,
           fmt::format("{} = {}: {}", element_name(tensor, i), values[i],
                       is_untouched(tensor, buffer.data(), i)
                           ? "it is never written"
                           : "a truth must be finite; if the inputs are to blame, give them a "
                             "`fill` such as {uniform: [0.1, 1]}"));
    return values;
  }

  void compare_with(const std::vector<std::vector<std::byte>>& first) const {
    std::size_t next = 0;
    for (const GuardedBuffer& buffer : buffers_) {
      const Tensor& tensor = buffer.tensor();
      if (!is_result(tensor.role)) continue;
      const auto differs = first_difference_of_large(first[next], buffer.data());
      if (!differs) {
        ++next;
        continue;
      }
      const std::size_t element = *differs / size_of(tensor.type);
      const double before = element_value(tensor.type, first[next], element);
      const bool left = is_untouched(tensor, first[next], element);
      fail(call_, instance_,
           left ? element_name(tensor, element) + " is never written"
                : fmt::format("{} = {:.6g} in one run and {:.6g} in the next",
                              element_name(tensor, element), before,
                              element_value(tensor.type, buffer.data(), element)));
    }
  }

  Device& device_;
  const ReferenceCall& call_;
  const Instance& instance_;
  std::deque<GuardedBuffer> buffers_;
  Launch launch_;
};

class DeviceReference final : public ReferenceRunner {
 public:
  DeviceReference(DeviceMaker make_device, CompileCall compile)
      : make_device_(std::move(make_device)), compile_(std::move(compile)) {}

  std::vector<std::vector<double>> run(const ReferenceCall& call,
                                       const Instance& instance) override {
    const std::lock_guard lock(mutex_);
    if (device_ == nullptr) device_ = make_device_();
    const BoundKernel kernel{loaded(call, instance), call.launch, call.arguments};
    return ReferenceLaunch(*device_, kernel, call, instance).results();
  }

 private:
  KernelHandle loaded(const ReferenceCall& call, const Instance& instance) {
    const std::string key = call.source.hash + " " + call.source.kernel;
    if (const auto known = kernels_.find(key); known != kernels_.end()) return known->second;
    const DeviceInfo& info = device_->info();
    const auto compiled = compile_(
        {call.source, call.arch.empty() ? info.arch : call.arch, info.accepts, call.options});
    if (!compiled) fail(call, instance, "it does not compile: " + compiled.error().message);
    const auto kernel = device_->load(compiled->image);
    if (!kernel) fail(call, instance, to_text(kernel.error().kind) + ": " + kernel.error().message);
    return kernels_[key] = *kernel;
  }

  DeviceMaker make_device_;
  CompileCall compile_;
  std::mutex mutex_;
  std::unique_ptr<Device> device_;
  std::map<std::string, KernelHandle> kernels_;
};

}  // namespace

std::shared_ptr<ReferenceRunner> make_reference_runner(DeviceMaker make_device,
                                                       CompileCall compile) {
  return std::make_shared<DeviceReference>(std::move(make_device), std::move(compile));
}

}  // namespace fa_tune
