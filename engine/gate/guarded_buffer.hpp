#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/gate/arguments.hpp"
#include "engine/gate/host_memory.hpp"
#include "engine/problem/problem.hpp"

namespace fa_tune::gate {

// If the inputs together are larger than this, they are read back once a case, after its last
// launch, and not after each: at the timed shape that is most of what a trial costs. A change to
// them still shows then, unless a later launch undid it, and a kernel has been through small shapes
// before.
inline constexpr std::size_t kLargeInputs = std::size_t{16} << 20;

// Adds the writes that fill `bytes` of a buffer from `offset` on with repetitions of `contents`,
// which must outlive them.
void fill_with(std::span<const std::byte> contents, device::BufferHandle buffer, std::size_t offset,
               std::size_t bytes, std::vector<device::BufferWrite>& writes);
// Bytes other than ones, for fill_with().
const std::vector<std::byte>& other_fill();
// Fills with ones, which are a NaN of every floating type.
void fill_with_ones(device::BufferHandle buffer, std::size_t offset, std::size_t bytes,
                    std::vector<device::BufferWrite>& writes);

// The byte that `otherwise` fills a tensor with. For integers it is not ones, which are -1 there
// and may be a correct result. For all other types ones are a NaN.
std::uint8_t fill_byte(const problem::Tensor& tensor, bool otherwise);

// The guard band on either side of a tensor on a device: its pattern, and its length in bytes. It
// is the same under the clock and in the gate, so that no kernel can tell the two apart by where
// its data lie.
std::span<const std::byte> guard_band();
std::size_t guard_bytes_of(const device::Device& device, const problem::Tensor& tensor);

// A tensor on a device between two guard bands. The bands hold a pattern that differs from place to
// place and is NaN in every floating-point type, so that a kernel which reads beyond a tensor and
// uses it shows too. An input has no bands on a device that checks accesses: it finds every read
// beyond the input, used or not. The buffer owns its device memory. The device and the tensor must
// outlive it.
class GuardedBuffer {
 public:
  // Nothing is written yet.
  GuardedBuffer(device::Device& device, const problem::Tensor& tensor);
  ~GuardedBuffer();
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  const problem::Tensor& tensor() const { return tensor_; }
  std::size_t data_bytes() const { return data_bytes_; }
  Place place() const { return {buffer_, guard_bytes_}; }

  // From now on fill() writes these bytes for those of the instance. They must be as many, and
  // outlive this.
  void replace(std::span<const std::byte> bytes);
  // From now on fill() fills integers with something else than ones, which are -1. So an element
  // that the kernel does not write differs in the next run.
  void fill_otherwise();
  // After such a run: whether both runs left an element as it was filled. `before` and `now` are
  // its bytes after the first run and after this one.
  bool unwritten(std::span<const std::byte> before, std::span<const std::byte> now) const;
  // The byte that fill() uses for data that are not given.
  std::uint8_t fill_byte() const { return fa_tune::gate::fill_byte(tensor_, otherwise_); }
  // Adds the writes of guards and data. Data that are not given are all ones, a NaN. A small buffer
  // is written in one piece, because a piece costs a device more than a few bytes do.
  void fill(std::vector<device::BufferWrite>& writes) const;
  void fill_guards(std::vector<device::BufferWrite>& writes) const;
  // Adds the reads of everything, for the functions below; or of guards alone, for guard_damage().
  void fetch(std::vector<device::BufferRead>& reads);
  void fetch_guards(std::vector<device::BufferRead>& reads);
  // Hands out the fetched memory; the next fetch goes to other memory. data_of() gives its data.
  HostMemory take_fetched();
  std::span<const std::byte> data_of(const HostMemory& fetched) const {
    return fetched.bytes().subspan(guard_bytes_, data_bytes_);
  }

  std::span<const std::byte> data() const { return data_of(*fetched_); }
  // What was damaged or changed, in one line, or nothing.
  std::optional<std::string> guard_damage() const;
  std::optional<std::string> input_change() const;

 private:
  device::Device& device_;
  const problem::Tensor& tensor_;
  std::size_t guard_bytes_;  // on each side
  std::size_t data_bytes_;
  bool otherwise_ = false;
  std::vector<std::byte> written_;     // all of it, where it is small
  std::span<const std::byte> source_;  // the data that is given
  std::optional<HostMemory> fetched_;  // always there
  device::BufferHandle buffer_;
};

}  // namespace fa_tune::gate
