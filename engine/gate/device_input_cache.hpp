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

namespace fa_tune::gate {

// Keeps large tensors on a device, so that trials copy and compare them there. At long shapes the
// bus takes ten times as long for them as a kernel runs. Copying and comparing is done by the
// engine's own kernels (device_input_cache_ptx.hpp). `usable()` is false if the device cannot run
// those.
//
// These buffers share the GPU's memory with untrusted kernels. So if a kernel fails a comparison
// with them, call intact(); if one was overwritten, compare again without the cache. Finals gate
// the timed shape once more without it. The list of sampled rows would help a kernel that searches
// that memory as much as their expected values would. So the list is there only while the engine's
// own kernel gathers the rows; its buffer is released afterwards, and the device wipes it.
class DeviceInputCache {
 public:
  // Smaller tensors, in bytes, are not kept: to send them costs less than the engine's own kernels.
  static constexpr std::size_t kLeast = std::size_t{1} << 20;
  // The most bytes that are kept, as in the TruthCache: the eight sets of Q, K and V, 64 MB each,
  // that finals need for each finalist, and what is known of their outputs. With less room all
  // would be sent anew each time. The longest unused goes first; a buffer in use stays until it is
  // released.
  static constexpr std::size_t kMost = std::size_t{3} << 30;

  // The device must outlive it. `most`: the bytes that it may keep.
  explicit DeviceInputCache(device::Device& device, std::size_t most = kMost);
  ~DeviceInputCache();
  DeviceInputCache(const DeviceInputCache&) = delete;
  DeviceInputCache& operator=(const DeviceInputCache&) = delete;

  bool usable() const { return usable_; }
  bool worth(std::size_t bytes) const { return usable_ && bytes >= kLeast; }

  // A buffer with the contents of the instance's tensor. It must not be written to.
  std::expected<SharedBuffer, device::Fault> of(
      const std::shared_ptr<const problem::Instance>& instance, std::size_t tensor);
  // To be called when the device has run out of memory: releases all that is not in use, and keeps
  // less from now on.
  void make_room();
  // Reads all back. Returns false, and drops all, if a kernel has written over any.
  bool intact();

  // Copies on the device, between any of its buffers.
  std::expected<void, device::Fault> copy(const Place& from, const Place& to, std::size_t bytes);
  // The first byte at which two differ, if they do.
  std::expected<std::optional<std::size_t>, device::Fault> first_difference(const Place& a,
                                                                            const Place& b,
                                                                            std::size_t bytes);

  // For an output with some rows whose expected values are known: whether all its elements are
  // within the limits, and the contents of those rows, one after another.
  bool can_sample(const problem::Tensor& output, const problem::Expectation& expectation) const;
  std::expected<bool, device::Fault> within_limits(
      const Place& place, const problem::Tensor& output,
      const std::shared_ptr<const problem::Expectation>& expectation);
  std::expected<HostMemory, device::Fault> sampled_rows(
      const Place& place, const problem::Tensor& output,
      const std::shared_ptr<const problem::Expectation>& expectation);

 private:
  struct Kept {
    std::shared_ptr<const void> owner;  // owns the contents
    std::size_t which = 0;              // which of the owner's tensors
    std::span<const std::byte> contents;
    SharedBuffer buffer;
    std::uint64_t life = 0;  // Device::life() when it was written
  };

  struct RanksOf {
    std::shared_ptr<const problem::Expectation> expectation;
    BoundRanks ranks;
  };

  void drop();
  bool load(device::KernelHandle& kernel, const char* name, const std::string& ptx);
  std::expected<SharedBuffer, device::Fault> keep(
      std::shared_ptr<const void> owner, std::size_t which,
      const std::function<std::span<const std::byte>()>& contents);
  std::expected<std::optional<std::size_t>, device::Fault> ask(
      device::KernelHandle kernel, std::vector<device::Argument> before,
      const std::vector<device::Argument>& after, std::size_t bytes);
  device::Launch launch_of(device::KernelHandle kernel, std::vector<device::Argument> arguments,
                           std::size_t bytes) const;
  std::shared_ptr<const RanksOf> ranks_of(
      const std::shared_ptr<const problem::Expectation>& expectation, DType type);
  void forget(std::list<Kept>::iterator kept);
  bool is_as_written(const Kept& kept);
  std::expected<std::size_t, device::Fault> exactly(std::size_t word, const Place& a,
                                                    const Place& b, std::size_t bytes);

  device::Device& device_;
  std::size_t most_;
  bool usable_ = false;
  device::KernelHandle copy_{}, differ_{}, limits_{}, rows_{};
  SharedBuffer found_;  // where first_difference() gets its answer
  std::uint64_t found_life_ = 0;
  std::list<Kept> kept_;  // the latest used first
  std::size_t bytes_ = 0;
  // For the expectations that are kept; made again when needed.
  std::map<const problem::Expectation*, std::weak_ptr<const RanksOf>> ranks_;
};

}  // namespace fa_tune::gate
