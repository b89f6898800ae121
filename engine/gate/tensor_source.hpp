#pragma once

#include <cstddef>
#include <memory>

#include "engine/gate/arguments.hpp"
#include "engine/gate/device_buffer.hpp"
#include "engine/gate/device_input_cache.hpp"
#include "engine/problem/problem.hpp"

namespace fa_tune::gate {

std::size_t bytes_of(const problem::Tensor& tensor);

// Writes tensors to a device: the data that are given, and fill_byte() for all else, so that an
// integer of an output that the kernel does not write is not -1. All references must outlive it.
// Every call throws MachineError if the device cannot be written to.
class TensorSource {
 public:
  // `known` is the instance as the input cache knows it, null without one.
  TensorSource(device::Device& device, const problem::Instance& instance,
               std::shared_ptr<const problem::Instance> known, DeviceInputCache* input_cache)
      : device_(device), instance_(instance), known_(std::move(known)), input_cache_(input_cache) {}

  // Writes all of a buffer: the i-th tensor between two guard bands, which may be empty.
  void write_guarded(std::size_t i, device::BufferHandle to,
                     std::span<const std::byte> guard) const;
  // A buffer with the given data of the i-th tensor, from its first byte on, which must not be written
  // to: that of the input cache if it has one, else one made for this.
  SharedBuffer given(std::size_t i) const;

  device::Device& device() const { return device_; }
  const std::vector<problem::Tensor>& tensors() const { return instance_.tensors; }

 private:
  bool has_original(std::size_t i) const;
  void write(std::size_t i, const Place& to) const;

  device::Device& device_;
  const problem::Instance& instance_;
  std::shared_ptr<const problem::Instance> known_;
  DeviceInputCache* input_cache_;
};

}  // namespace fa_tune::gate
