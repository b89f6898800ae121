#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "engine/gate/device_input_cache.hpp"
#include "engine/gate/gate.hpp"
#include "engine/gate/guarded_buffer.hpp"

namespace fa_tune::gate {

// Runs one kernel on one instance, in guarded buffers of its own. With a DeviceInputCache large
// tensors are filled, kept and compared on the device, and only the rows that are compared with
// expected ones come to the host. Without it all tensors go through the host.
class CaseRun {
 public:
  using EntryPtr = std::shared_ptr<const TruthCache::Entry>;

  // All arguments must outlive it; `input_cache` may be null.
  CaseRun(device::Device& device, const BoundKernel& kernel, EntryPtr truth,
          DeviceInputCache* input_cache);

  // Whether its result depends on the input cache.
  bool rests_on_originals() const;
  // Does the cheap checks first, and further runs only if the first one shows no fault.
  std::optional<Rejection> check(Verdict& verdict, bool sanitized);
  // To be called after check(). Runs the kernel again in the same buffers, with one input changed
  // and the outputs as they were left. This finds a kernel that takes a finished output for its
  // own. `changed` is the same case with that change.
  std::optional<Rejection> check_changed(EntryPtr changed, Verdict& verdict);

 private:
  enum class Fill { all, inputs, outputs };
  enum class Look { all, outputs };
  // An output of the first run, on the host or on the device.
  struct First {
    std::optional<HostMemory> fetched;
    std::optional<device::BufferHandle> kept;
  };
  class Outputs;

  // What the outputs are compared with.
  const EntryPtr& truth() const { return changed_ ? changed_ : truth_; }
  // Where the contents of the i-th tensor come from.
  const EntryPtr& given(std::size_t i) const {
    return changed_ && changed_->changed_tensor == i ? changed_ : truth_;
  }
  std::size_t input_bytes() const;
  // Whether data are to stay as nobody has written them.
  bool stays_unwritten(std::size_t i) const {
    return launch_.checks.initialized && i >= truth_->instance.tensors.size();
  }
  bool apart(const GuardedBuffer& buffer) const {
    return input_cache_ != nullptr && input_cache_->worth(buffer.data_bytes());
  }
  std::optional<Rejection> run(Fill what, Look look = Look::all);
  std::optional<Rejection> fill_apart(std::size_t i);  // the i-th buffer
  std::optional<Rejection> keep_outputs(Outputs& kept);
  std::optional<Rejection> compare_outputs(Verdict& verdict);
  std::optional<Rejection> compare_runs(const Outputs& first);
  std::optional<Rejection> compare_inputs_apart();
  Rejection not_deterministic(const problem::Tensor& tensor, std::size_t byte,
                              std::span<const std::byte> before,
                              std::span<const std::byte> now) const;
  static Rejection never_written(const problem::Tensor& tensor, std::size_t byte);
  bool as_before(const Outputs& before) const;

  device::Device& device_;
  EntryPtr truth_;
  EntryPtr changed_;  // null until check_changed()
  DeviceInputCache* input_cache_;
  std::vector<problem::Tensor> workspaces_;  // the kernel's own
  std::deque<GuardedBuffer> buffers_;        // of the instance's tensors, then of these
  device::Launch launch_;
  std::optional<Rejection> unbound_;
};

}  // namespace fa_tune::gate
