#include "engine/gate/timed_launch.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "engine/base/error.hpp"
#include "engine/gate/arguments.hpp"
#include "engine/gate/guarded_buffer.hpp"
#include "engine/gate/output_check.hpp"

namespace fa_tune {
namespace {

// Launches ahead of an exchange, where they cost a GPU microseconds: enough that a kernel which
// looks back, at a clock or at a count, takes itself to be timed.
constexpr int kLaunchesAhead = 24;
// Of long ones fewer will do.
constexpr int kLeastAhead = 4;
constexpr double kAheadUs = 10'000;

void release_all(Device& device, std::vector<BufferHandle>& buffers) {
  for (const BufferHandle buffer : buffers) device.release(buffer);
  buffers.clear();
}

std::size_t bytes_of(const Tensor& tensor) {
  return static_cast<std::size_t>(tensor.elements()) * size_of(tensor.type);
}

void require(const std::expected<void, Fault>& done, const Tensor& tensor) {
  if (!done)
    throw MachineError("writing " + tensor.name + " to the device: " + done.error().message);
}

// Tensors to write to a device: what is given, NaN for all else.
class TensorSource {
 public:
  // `instance` as the originals know it: null without them.
  TensorSource(Device& device, const Instance& instance, std::shared_ptr<const Instance> known,
               Originals* originals)
      : device_(device), instance_(instance), known_(std::move(known)), originals_(originals) {}

  // Whether the device has the tensor already: then original() is where.
  bool has(std::size_t i) const {
    const Tensor& tensor = instance_.tensors[i];
    return is_given(tensor.role) && originals_ != nullptr && originals_->worth(bytes_of(tensor));
  }
  BufferHandle original(std::size_t i) const {
    const auto buffer = originals_->of(known_, i);
    if (!buffer) require(std::unexpected(buffer.error()), instance_.tensors[i]);
    return *buffer;
  }

  void write(std::size_t i, BufferHandle to) const {
    const Tensor& tensor = instance_.tensors[i];
    const std::size_t bytes = bytes_of(tensor);
    if (has(i)) {
      require(originals_->copy({original(i), 0}, {to, 0}, bytes), tensor);
    } else if (is_given(tensor.role)) {
      require(device_.write(to, 0, tensor.bytes), tensor);
    } else if (originals_ != nullptr && originals_->worth(bytes)) {
      require(originals_->fill_with_ones({to, 0}, bytes), tensor);
    } else {
      std::vector<BufferWrite> writes;
      fill_with_ones(to, 0, bytes, writes);
      for (const BufferWrite& each : writes)
        require(device_.write(each.buffer, each.offset, each.bytes), tensor);
    }
  }

  Device& device() const { return device_; }
  const std::vector<Tensor>& tensors() const { return instance_.tensors; }

 private:
  Device& device_;
  const Instance& instance_;
  std::shared_ptr<const Instance> known_;
  Originals* originals_;
};

// Buffers with the inputs that a row of launches is to find from some moment on.
class Exchange {
 public:
  Exchange(const TensorSource& source, const std::vector<BufferHandle>& to)
      : device_(source.device()) {
    try {
      for (std::size_t i = 0; i < to.size(); ++i) {
        const Tensor& tensor = source.tensors()[i];
        if (!is_given(tensor.role)) continue;
        if (!source.has(i)) {
          from_.push_back(device_.allocate(bytes_of(tensor)));
          source.write(i, from_.back());
        }
        copies_.push_back(
            {source.has(i) ? source.original(i) : from_.back(), to[i], bytes_of(tensor)});
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
  explicit Buffers(const TensorSource& source) : device_(source.device()) {
    try {
      for (std::size_t i = 0; i < source.tensors().size(); ++i) {
        buffers_.push_back(device_.allocate(bytes_of(source.tensors()[i])));
        source.write(i, buffers_.back());
      }
    } catch (...) {
      release_all(device_, buffers_);
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
      held_(std::make_shared<const Buffers>(TensorSource(device, instance, nullptr, nullptr))),
      buffers_(held_->all()) {
  bind(kernel, instance);
}

TimedLaunch::TimedLaunch(Device& device, const BoundKernel& kernel, const EntryPtr& truth,
                         Originals* originals)
    : device_(device),
      originals_(originals),
      held_(std::make_shared<const Buffers>(
          TensorSource(device, truth->instance, {truth, &truth->instance}, originals))),
      buffers_(held_->all()) {
  bind(kernel, truth->instance);
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

std::optional<Refusal> TimedLaunch::check(const EntryPtr& truth) {
  // What a kernel writes over, launches under a clock have written over many times.
  if (std::ranges::any_of(truth->instance.tensors,
                          [](const Tensor& tensor) { return tensor.role == Role::inout; }))
    return check_exchanged(truth);
  return compare_outputs(truth, "under the clock");
}

std::optional<Refusal> TimedLaunch::check_exchanged(const EntryPtr& other, double us) {
  const TensorSource source(device_, other->instance, {other, &other->instance}, originals_);
  const Exchange exchange(source, buffers_);
  // A launch at the timed shape takes an emulator seconds.
  const double wanted = us > 0 ? kAheadUs / us : kLaunchesAhead;
  const int ahead = device_.info().times == TimeKind::measured
                        ? static_cast<int>(std::clamp<double>(wanted, kLeastAhead, kLaunchesAhead))
                        : 1;
  if (const auto done = device_.launch_exchanging(launch_, ahead, exchange.copies()); !done)
    return refusal_of(done.error());
  return compare_outputs(other, "in a row of launches, after its inputs changed");
}

std::optional<Refusal> TimedLaunch::compare_outputs(const EntryPtr& truth,
                                                    const std::string& when) {
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const Tensor& tensor = truth->instance.tensors[i];
    if (!is_result(tensor.role)) continue;
    const auto comparison = compare_there(device_, originals_, {buffers_[i], 0}, tensor, truth);
    if (!comparison) return refusal_of(comparison.error());
    if (comparison->finding != Finding::right)
      return Refusal{comparison->finding, when + ": " + comparison->message};
  }
  return std::nullopt;
}

}  // namespace fa_tune
