#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/gate/arguments.hpp"
#include "engine/gate/bound_ranks.hpp"
#include "engine/gate/device_buffer.hpp"
#include "engine/gate/host_memory.hpp"
#include "engine/problem/problem.hpp"

namespace fa_tune {

// Large tensors kept on a device, so that each trial has them copied and compared there: at long
// shapes the bus takes ten times as long for them as a kernel runs. Done by kernels of the engine's
// own (originals_ptx.hpp), by way of the device like any other; `usable()` is false where it cannot
// run them.
//
// They lie in the memory of strangers' kernels. So a refusal that rests on them stands only if they
// are intact(), and finals judge the timed shape once more without. Which rows of an output are
// looked at is as good as their truth to a kernel that searches that memory: the list is there only
// while the engine's own kernel gathers them, and goes with its buffer, which the device wipes.
class DeviceInputCache {
 public:
  // A tensor of fewer bytes is not worth it.
  static constexpr std::size_t kLeast = std::size_t{1} << 20;
  // Kept at most, as in the TruthCache: the eight sets of Q, K and V, 64 MB each, that finals go
  // through for each finalist, and what is known of their outputs. With less all would be sent anew
  // each time. The longest unused goes first; what somebody still has in use lasts as long as that.
  static constexpr std::size_t kMost = std::size_t{3} << 30;

  // The device must outlive it. `most`: bytes kept.
  explicit DeviceInputCache(Device& device, std::size_t most = kMost);
  ~DeviceInputCache();
  DeviceInputCache(const DeviceInputCache&) = delete;
  DeviceInputCache& operator=(const DeviceInputCache&) = delete;

  bool usable() const { return usable_; }
  bool worth(std::size_t bytes) const { return usable_ && bytes >= kLeast; }

  // A buffer with the contents of the instance's tensor, which is not to be written.
  std::expected<SharedBuffer, Fault> of(const std::shared_ptr<const Instance>& instance,
                                        std::size_t tensor);
  // Where the device has run out of memory: lets all go that nobody uses, and keeps less from now
  // on.
  void make_room();
  // Reads them back. If a kernel has written over any, false, and all are dropped.
  bool intact();

  // On the device, for any of its buffers.
  std::expected<void, Fault> copy(const Place& from, const Place& to, std::size_t bytes);
  // The first byte at which two differ, if they do.
  std::expected<std::optional<std::size_t>, Fault> first_difference(const Place& a, const Place& b,
                                                                    std::size_t bytes);

  // For an output of which the truth of some rows is known: are all elements within the limits, and
  // what is in those rows, one after another?
  bool can_sample(const Tensor& output, const Expectation& expectation) const;
  std::expected<bool, Fault> within_limits(const Place& place, const Tensor& output,
                                           const std::shared_ptr<const Expectation>& expectation);
  std::expected<HostMemory, Fault> sampled_rows(
      const Place& place, const Tensor& output,
      const std::shared_ptr<const Expectation>& expectation);

 private:
  struct Kept {
    std::shared_ptr<const void> owner;  // of the contents
    std::size_t which = 0;              // of the owner's
    std::span<const std::byte> contents;
    SharedBuffer buffer;
    std::uint64_t life = 0;  // the device's, when it was written
  };

  struct RanksOf {
    std::shared_ptr<const Expectation> expectation;
    BoundRanks ranks;
  };

  void drop();
  bool load(KernelHandle& kernel, const char* name, const std::string& ptx);
  std::expected<SharedBuffer, Fault> keep(
      std::shared_ptr<const void> owner, std::size_t which,
      const std::function<std::span<const std::byte>()>& contents);
  std::expected<std::optional<std::size_t>, Fault> ask(KernelHandle kernel,
                                                       std::vector<Argument> before,
                                                       const std::vector<Argument>& after,
                                                       std::size_t bytes);
  Launch launch_of(KernelHandle kernel, std::vector<Argument> arguments, std::size_t bytes) const;
  std::shared_ptr<const RanksOf> ranks_of(const std::shared_ptr<const Expectation>& expectation,
                                          DType type);
  void forget(std::list<Kept>::iterator kept);
  bool is_as_written(const Kept& kept);
  std::expected<std::size_t, Fault> exactly(std::size_t word, const Place& a, const Place& b,
                                            std::size_t bytes);

  Device& device_;
  std::size_t most_;
  bool usable_ = false;
  KernelHandle copy_{}, differ_{}, limits_{}, rows_{};
  SharedBuffer found_;  // where first_difference() has its answer written
  std::uint64_t found_life_ = 0;
  std::list<Kept> kept_;  // the latest used first
  std::size_t bytes_ = 0;
  // Of what is kept; made again when they are wanted again.
  std::map<const Expectation*, std::weak_ptr<const RanksOf>> ranks_;
};

}  // namespace fa_tune
