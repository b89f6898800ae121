#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/gate/arguments.hpp"
#include "engine/problem/problem.hpp"

namespace fa_tune {

// A tensor on a device between two guard bands. The bands hold a pattern that differs from place to
// place and is NaN in every floating-point type, so that what reads beyond a tensor, and uses it,
// shows too. Owns its device memory. The device and the tensor must outlive it.
class GuardedBuffer {
 public:
  static constexpr std::size_t guard_bytes = 4096;  // on each side; keeps 256-byte alignment

  // Nothing is written yet.
  GuardedBuffer(Device& device, const Tensor& tensor);
  ~GuardedBuffer();
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  const Tensor& tensor() const { return tensor_; }
  Place place() const { return {buffer_, guard_bytes}; }

  // From now on fill() writes these bytes for an input's own; they must be as many.
  void replace(std::span<const std::byte> bytes);
  // To write guards and data; the data of all but inputs is all ones, a NaN.
  BufferWrite fill() const { return {buffer_, 0, written_}; }
  // To read everything back, for the three below.
  BufferRead fetch() { return {buffer_, 0, fetched_}; }

  std::span<const std::byte> data() const;
  // One line each, or nothing.
  std::optional<std::string> guard_damage() const;
  std::optional<std::string> input_change() const;

 private:
  Device& device_;
  const Tensor& tensor_;
  std::size_t data_bytes_;
  std::vector<std::byte> written_;
  std::vector<std::byte> fetched_;
  BufferHandle buffer_;
};

}  // namespace fa_tune
