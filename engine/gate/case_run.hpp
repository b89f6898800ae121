#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "engine/gate/device_input_cache.hpp"
#include "engine/gate/gate.hpp"
#include "engine/gate/guarded_buffer.hpp"

namespace fa_tune {

// One kernel on one instance, in guarded buffers of its own. With DeviceInputCache large tensors
// are filled, kept and compared on the device, and only what is compared with the truth comes back;
// without, all of it goes by way of the host.
class CaseRun {
 public:
  using EntryPtr = std::shared_ptr<const TruthCache::Entry>;

  // What is given must outlive it; `input_cache` may be null.
  CaseRun(Device& device, const BoundKernel& kernel, EntryPtr truth, DeviceInputCache* input_cache);

  // Whether it rests on the input cache.
  bool rests_on_originals() const;
  // The cheap questions first; further runs only for what the first shows no fault in.
  std::optional<Rejection> check(Verdict& verdict, bool watched);
  // After check(): again in the same buffers, with one input changed and the outputs as they were
  // left, for a kernel that takes a finished output for its own. `changed` is the same case with
  // that change.
  std::optional<Rejection> check_changed(EntryPtr changed, Verdict& verdict);

 private:
  enum class Fill { all, inputs, outputs };
  enum class Look { all, outputs };
  // An output of the first run: on the host, or else on the device.
  struct First {
    std::optional<HostMemory> fetched;
    std::optional<BufferHandle> kept;
  };
  class Outputs;

  std::size_t input_bytes() const;
  bool apart(const GuardedBuffer& buffer) const {
    return input_cache_ != nullptr && input_cache_->worth(buffer.data_bytes());
  }
  std::optional<Rejection> run(Fill what, Look look = Look::all);
  std::optional<Rejection> fill_apart(std::size_t buffer);
  std::optional<Rejection> compare_outputs(Verdict& verdict);
  std::optional<Rejection> compare_runs(const Outputs& first);
  std::optional<Rejection> compare_inputs_apart();
  Rejection not_deterministic(const Tensor& tensor, std::size_t byte,
                              std::span<const std::byte> before,
                              std::span<const std::byte> now) const;
  static Rejection never_written(const Tensor& tensor, std::size_t byte);
  bool as_before(const Outputs& before) const;

  Device& device_;
  EntryPtr truth_;
  DeviceInputCache* input_cache_;
  std::deque<GuardedBuffer> buffers_;
  Launch launch_;
  std::optional<Rejection> unbound_;
};

}  // namespace fa_tune
