#include "engine/gate/reference_run.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include "engine/gate/arguments.hpp"
#include "engine/gate/compare.hpp"
#include "engine/gate/guarded_buffer.hpp"
#include "engine/kernel/compile/located_error.hpp"
#include "engine/util/bytes.hpp"
#include "engine/util/error.hpp"
#include "engine/util/log.hpp"
#include "engine/util/parallel.hpp"
#include "engine/util/process.hpp"
#include "engine/util/stopwatch.hpp"

namespace fa_tune::gate {
namespace {

// Up to so much data an emulator watches the reference as it does kernels under test.
constexpr std::size_t kMostSanitized = std::size_t{1} << 20;

template <typename Error = UserError>
[[noreturn]] void fail(const problem::ReferenceCall& call, const problem::Instance& instance,
                       const std::string& what) {
  throw Error(fmt::format("the reference kernel {} at {} with inputs={} seed={}: {}",
                          call.source.kernel, to_json(instance.shape), to_text(instance.inputs),
                          instance.seed, what));
}

// The buffers of one instance, and a launch or two in them.
class ReferenceLaunch {
 public:
  ReferenceLaunch(device::Device& device, const BoundKernel& kernel,
                  const problem::ReferenceCall& call, const problem::Instance& instance)
      : device_(device), call_(call), instance_(instance) {
    for (const problem::Tensor& tensor : instance.tensors) buffers_.emplace_back(device, tensor);
    auto launch =
        make_launch(device, kernel, instance, [&](std::size_t i) { return buffers_[i].place(); });
    if (!launch) fail(call, instance, launch.error().message);
    launch_ = std::move(*launch);
  }

  void results(const problem::TakeResult& take) {
    std::size_t bytes = 0;
    for (const GuardedBuffer& buffer : buffers_) bytes += buffer.data_bytes();
    if (device_.info().checks && call_.sanitized && bytes <= kMostSanitized)
      launch_.checks = device::Checks::all();
    run(Outputs::as_under_test);
    std::vector<HostMemory> first;
    for (GuardedBuffer& buffer : buffers_) {
      if (!problem::is_result(buffer.tensor().role)) continue;
      require_finite(buffer);
      first.push_back(buffer.take_fetched());
    }
    if (!call_.checked) {
      launch_.checks = {};
      if (device_.info().checks) launch_.schedule = 1;
      run(Outputs::filled_otherwise);
      compare_with(first);
    }
    std::size_t next = 0;
    for (const GuardedBuffer& buffer : buffers_)
      if (problem::is_result(buffer.tensor().role))
        take(buffer.tensor(), buffer.data_of(first[next++]));
  }

 private:
  enum class Outputs { as_under_test, filled_otherwise };

  void run(Outputs outputs) {
    std::vector<device::BufferWrite> writes;
    std::vector<device::BufferRead> reads;
    const Stopwatch watch;
    // Large ones go to the device once and come back once, after the last launch.
    const bool first = outputs == Outputs::as_under_test;
    const bool large = input_bytes() > kLargeInputs;
    const bool looks_at_inputs = !call_.checked && !(large && first);
    for (GuardedBuffer& buffer : buffers_) {
      const bool input = buffer.tensor().role == problem::Role::input;
      if (first || !large || !input) buffer.fill(writes);
      if (input && !looks_at_inputs)
        buffer.fetch_guards(reads);
      else
        buffer.fetch(reads);
    }
    for (const GuardedBuffer& buffer : buffers_)
      if (outputs == Outputs::filled_otherwise && !problem::is_given(buffer.tensor().role))
        fill_with(other_fill(), buffer.place().buffer, buffer.place().offset, buffer.data_bytes(),
                  writes);
    if (const auto done = device_.launch_between(writes, launch_, reads); !done)
      fail(call_, instance_, to_text(done.error().kind) + ": " + done.error().message);
    log_debug("the reference ran, with what it reads and writes copied, in {:.0f} ms",
              watch.milliseconds());
    for (const GuardedBuffer& buffer : buffers_) {
      if (const auto damage = buffer.guard_damage()) fail(call_, instance_, *damage);
      if (!looks_at_inputs) continue;
      if (const auto change = buffer.input_change()) fail(call_, instance_, *change);
    }
  }

  std::size_t input_bytes() const {
    std::size_t bytes = 0;
    for (const GuardedBuffer& buffer : buffers_)
      if (buffer.tensor().role == problem::Role::input) bytes += buffer.data_bytes();
    return bytes;
  }

  void require_finite(const GuardedBuffer& buffer) const {
    const problem::Tensor& tensor = buffer.tensor();
    if (is_integer(tensor.type)) return require_bools(buffer);
    const auto count = static_cast<std::size_t>(tensor.elements());
    // The first of each piece, if there is one.
    std::vector<std::size_t> odd(element_pieces(count) + 1, count);
    in_pieces(count, [&](std::size_t first, std::size_t end) {
      for (std::size_t i = end; i-- > first;)
        if (!std::isfinite(element_value(tensor.type, buffer.data(), i)))
          odd[first / kElementsOfPiece] = i;
    });
    const std::size_t i = std::ranges::min(odd);
    if (i == count) return;
    const std::string found = fmt::format("{} = {}: ", element_name(tensor, i),
                                          element_value(tensor.type, buffer.data(), i));
    if (is_untouched(tensor, buffer.data(), i))
      fail(call_, instance_, found + "it is never written");
    fail<problem::NoTruth>(
        call_, instance_,
        found +
            "a truth must be finite; if the inputs are to blame, give them a `fill` "
            "such as {uniform: [0.1, 1]}");
  }

  // Of integers only a bool has bytes that are no value of it. What is never written is found by
  // the second run.
  void require_bools(const GuardedBuffer& buffer) const {
    const problem::Tensor& tensor = buffer.tensor();
    if (tensor.type != DType::boolean) return;
    const auto bytes = buffer.data();
    for (std::size_t i = 0; i < bytes.size(); ++i)
      if (bytes[i] > std::byte{1} && !is_untouched(tensor, bytes, i))
        fail(call_, instance_,
             fmt::format("{} = {}: a bool must be 0 or 1", element_name(tensor, i),
                         element_text(tensor.type, bytes, i)));
  }

  void compare_with(const std::vector<HostMemory>& first) const {
    std::size_t next = 0;
    for (const GuardedBuffer& buffer : buffers_) {
      const problem::Tensor& tensor = buffer.tensor();
      if (!problem::is_result(tensor.role)) continue;
      const auto before = buffer.data_of(first[next++]);
      const auto differs = first_difference_of_large(before, buffer.data());
      if (!differs) continue;
      const std::size_t element = *differs / size_of(tensor.type);
      const auto [one, next_one] = told_apart(tensor.type, before, buffer.data(), element);
      fail(call_, instance_,
           is_untouched(tensor, before, element)
               ? element_name(tensor, element) + " is never written"
               : fmt::format("{} = {} in one run and {} in the next", element_name(tensor, element),
                             one, next_one));
    }
  }

  device::Device& device_;
  const problem::ReferenceCall& call_;
  const problem::Instance& instance_;
  std::deque<GuardedBuffer> buffers_;
  device::Launch launch_;
};

class DeviceReference final : public problem::ReferenceRunner {
 public:
  DeviceReference(DeviceMaker make_device, CompileCall compile, const std::atomic<bool>* stop)
      : make_device_(std::move(make_device)), compile_(std::move(compile)), stop_(stop) {}

  void run(const problem::ReferenceCall& call, const problem::Instance& instance,
           const problem::TakeResult& take) override {
    const std::lock_guard lock(mutex_);
    for (OutsideKills kills;;) {
      if (stop_ != nullptr && *stop_)
        throw Interrupted("interrupted while expected results were computed");
      if (device_ == nullptr) device_ = make_device_();
      const std::size_t before = device_->deaths().size();
      try {
        const BoundKernel kernel{loaded(call, instance), call.launch, call.arguments};
        // Results are taken last, once.
        ReferenceLaunch(*device_, kernel, call, instance).results(take);
        return;
      } catch (const DeviceGone&) {
        // Whose device the kernels under test have is another matter.
        if (!device_->lost()) throw;
        kernels_.clear();
        device_.reset();
      } catch (const MachineError&) {
        const auto deaths = device_->deaths();
        const bool killed =
            deaths.size() > before && deaths.back().kind == device::FaultKind::killed;
        if (!killed) throw;
        if (!kills.bearable()) throw MachineError("the reference cannot be run: " + kills.text());
      }
    }
  }

 private:
  device::KernelHandle loaded(const problem::ReferenceCall& call,
                              const problem::Instance& instance) {
    const std::string key = call.source.hash + " " + call.source.kernel;
    if (const auto known = kernels_.find(key); known != kernels_.end()) return known->second;
    const device::DeviceInfo& info = device_->info();
    const auto compiled = compile_(
        {call.source, call.arch.empty() ? info.arch : call.arch, info.accepts, call.options});
    if (!compiled)
      fail(call, instance,
           "it does not compile: " + kernel::located(compiled.error(), call.source));
    const auto kernel = device_->load(compiled->image);
    if (!kernel) fail(call, instance, to_text(kernel.error().kind) + ": " + kernel.error().message);
    return kernels_[key] = *kernel;
  }

  DeviceMaker make_device_;
  CompileCall compile_;
  const std::atomic<bool>* stop_;
  std::mutex mutex_;
  std::unique_ptr<device::Device> device_;
  std::map<std::string, device::KernelHandle> kernels_;
};

}  // namespace

std::shared_ptr<problem::ReferenceRunner> make_reference_runner(DeviceMaker make_device,
                                                                CompileCall compile,
                                                                const std::atomic<bool>* stop) {
  return std::make_shared<DeviceReference>(std::move(make_device), std::move(compile), stop);
}

}  // namespace fa_tune::gate
