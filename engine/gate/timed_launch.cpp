#include "engine/gate/timed_launch.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "engine/base/error.hpp"
#include "engine/gate/arguments.hpp"
#include "engine/gate/compare.hpp"
#include "engine/gate/guarded_buffer.hpp"

namespace fa_tune {
namespace {

// Launches ahead of an exchange, where they cost a GPU microseconds: enough that a kernel which
// looks back, at a clock or at a count, takes itself to be timed.
constexpr int kLaunchesAhead = 24;

void release_all(Device& device, std::vector<BufferHandle>& buffers) {
  for (const BufferHandle buffer : buffers) device.release(buffer);
  buffers.clear();
}

std::size_t bytes_of(const Tensor& tensor) {
  return static_cast<std::size_t>(tensor.elements()) * size_of(tensor.type);
}

// What a launch begins with: what is given, NaN for all else.
void upload(Device& device, std::vector<BufferHandle>& buffers, const Tensor& tensor) {
  buffers.push_back(device.allocate(bytes_of(tensor)));
  std::vector<BufferWrite> writes;
  if (is_given(tensor.role))
    writes.push_back({buffers.back(), 0, tensor.bytes});
  else
    fill_with_ones(buffers.back(), 0, bytes_of(tensor), writes);
  for (const BufferWrite& each : writes)
    if (const auto done = device.write(each.buffer, each.offset, each.bytes); !done)
      throw MachineError("writing " + tensor.name + " to the device: " + done.error().message);
}

// Buffers with the inputs that a row of launches is to find from some moment on.
class Exchange {
 public:
  Exchange(Device& device, const Instance& instance, const std::vector<BufferHandle>& to)
      : device_(device) {
    try {
      for (std::size_t i = 0; i < to.size(); ++i) {
        const Tensor& tensor = instance.tensors[i];
        if (!is_given(tensor.role)) continue;
        upload(device, from_, tensor);
        copies_.push_back({from_.back(), to[i], bytes_of(tensor)});
      }
    } catch (...) {
      release_all(device_, from_);
      throw;
    }
  }
  ~Exchange() { release_all(device_, from_); }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  std::span<const BufferCopy> copies() const { return copies_; }

 private:
  Device& device_;
  std::vector<BufferHandle> from_;
  std::vector<BufferCopy> copies_;
};

}  // namespace

// One for each tensor of an instance.
class TimedLaunch::Buffers {
 public:
  Buffers(Device& device, const Instance& instance) : device_(device) {
    try {
      for (const Tensor& tensor : instance.tensors) upload(device, buffers_, tensor);
    } catch (...) {
      release_all(device, buffers_);
      throw;
    }
  }
  ~Buffers() { release_all(device_, buffers_); }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  const std::vector<BufferHandle>& all() const { return buffers_; }

 private:
  Device& device_;
  std::vector<BufferHandle> buffers_;
};

TimedLaunch::TimedLaunch(Device& device, const BoundKernel& kernel, const Instance& instance)
    : device_(device),
      held_(std::make_shared<const Buffers>(device, instance)),
      buffers_(held_->all()) {
  bind(kernel, instance);
}

TimedLaunch::TimedLaunch(const TimedLaunch& beside, const BoundKernel& kernel,
                         const Instance& instance)
    : device_(beside.device_), held_(beside.held_), buffers_(held_->all()) {
  bind(kernel, instance);
}

TimedLaunch::~TimedLaunch() = default;

void TimedLaunch::bind(const BoundKernel& kernel, const Instance& instance) {
  auto launch = make_launch(device_, kernel, instance, [&](std::size_t i) {
    return Place{buffers_[i], 0};
  });
  if (!launch) throw MachineError("arguments of the kernel: " + launch.error().message);
  launch_ = std::move(*launch);
}

std::optional<Refusal> TimedLaunch::check(const TruthCache::Entry& truth) {
  // What a kernel writes over, launches under a clock have written over many times.
  if (std::ranges::any_of(truth.instance.tensors,
                          [](const Tensor& tensor) { return tensor.role == Role::inout; }))
    return check_exchanged(truth);
  return compare_outputs(truth, "under the clock");
}

std::optional<Refusal> TimedLaunch::check_exchanged(const TruthCache::Entry& other) {
  const Exchange exchange(device_, other.instance, buffers_);
  // A launch at the timed shape takes an emulator seconds.
  const int ahead = device_.info().times == TimeKind::measured ? kLaunchesAhead : 1;
  if (const auto done = device_.launch_exchanging(launch_, ahead, exchange.copies()); !done)
    return refusal_of(done.error());
  return compare_outputs(other, "in a row of launches, after its inputs changed");
}

std::optional<Refusal> TimedLaunch::compare_outputs(const TruthCache::Entry& truth,
                                                    const std::string& when) {
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const Tensor& tensor = truth.instance.tensors[i];
    if (!is_result(tensor.role)) continue;
    HostMemory memory(bytes_of(tensor));
    const auto bytes = memory.bytes();
    if (const auto done = device_.read(buffers_[i], 0, bytes); !done)
      return refusal_of(done.error());
    const Comparison comparison = compare(tensor, bytes, truth.expectation_of(tensor));
    if (comparison.finding != Finding::right)
      return Refusal{comparison.finding, when + ": " + comparison.message};
  }
  return std::nullopt;
}

}  // namespace fa_tune
