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

namespace fa_tune {

// Inputs of more than this together are read back once a case, after its last launch, and not after
// each: at the timed shape that is most of what a trial costs. What a kernel did to them shows then
// all the same, unless one launch undid it after another; and a trial comes here by way of small
// shapes.
inline constexpr std::size_t kLargeInputs = std::size_t{16} << 20;

// To fill `bytes` of a buffer from `offset` on with repetitions of `contents`, which must outlive
// the writes.
void fill_with(std::span<const std::byte> contents, BufferHandle buffer, std::size_t offset,
               std::size_t bytes, std::vector<BufferWrite>& writes);
// Bytes that are no ones, to be repeated by fill_with().
const std::vector<std::byte>& other_fill();
// With ones, a NaN of every floating type.
void fill_with_ones(BufferHandle buffer, std::size_t offset, std::size_t bytes,
                    std::vector<BufferWrite>& writes);

// Every byte of what is filled with `otherwise` where it is an integer: ones are -1 there, which
// may be right; of all other types they are a NaN.
std::uint8_t fill_byte(const Tensor& tensor, bool otherwise);

// What lies on either side of a tensor on a device: a pattern, and how many bytes of it. Under the
// clock as in the gate, so that no kernel can tell the two by where its data lie.
std::span<const std::byte> guard_band();
std::size_t guard_bytes_of(const Device& device, const Tensor& tensor);

// A tensor on a device between two guard bands. The bands hold a pattern that differs from place to
// place and is NaN in every floating-point type, so that what reads beyond a tensor, and uses it,
// shows too. An input has none on a device that checks: whatever reads beyond it is found there,
// used or not. Owns its device memory. The device and the tensor must outlive it.
class GuardedBuffer {
 public:
  // Nothing is written yet.
  GuardedBuffer(Device& device, const Tensor& tensor);
  ~GuardedBuffer();
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  const Tensor& tensor() const { return tensor_; }
  std::size_t data_bytes() const { return data_bytes_; }
  Place place() const { return {buffer_, guard_bytes_}; }

  // From now on fill() writes these bytes for those that were given; they must be as many, and
  // outlive this.
  void replace(std::span<const std::byte> bytes);
  // From now on fill() leaves integers that are not given as something else than ones, which are
  // -1: what nobody writes is another in the next run then.
  void fill_otherwise();
  // After such a run: whether both left an element as it was filled. Its bytes as the one before
  // left them, and as they are.
  bool unwritten(std::span<const std::byte> before, std::span<const std::byte> now) const;
  // What fill() fills with that is not given.
  std::uint8_t fill_byte() const { return fa_tune::fill_byte(tensor_, otherwise_); }
  // To write guards and data; data that is not given is all ones, a NaN. In one piece where it
  // is small: a piece costs a device more than a few bytes do.
  void fill(std::vector<BufferWrite>& writes) const;
  void fill_guards(std::vector<BufferWrite>& writes) const;
  // To read everything back, for what follows; or guards alone, for guard_damage().
  void fetch(std::vector<BufferRead>& reads);
  void fetch_guards(std::vector<BufferRead>& reads);
  // What was fetched, as it is; the next fetch goes elsewhere. data_of() is its data.
  HostMemory take_fetched();
  std::span<const std::byte> data_of(const HostMemory& fetched) const {
    return fetched.bytes().subspan(guard_bytes_, data_bytes_);
  }

  std::span<const std::byte> data() const { return data_of(*fetched_); }
  // One line each, or nothing.
  std::optional<std::string> guard_damage() const;
  std::optional<std::string> input_change() const;

 private:
  Device& device_;
  const Tensor& tensor_;
  std::size_t guard_bytes_;  // on each side
  std::size_t data_bytes_;
  bool otherwise_ = false;
  std::vector<std::byte> written_;     // all of it, where it is small
  std::span<const std::byte> source_;  // the data that is given
  std::optional<HostMemory> fetched_;  // always there
  BufferHandle buffer_;
};

}  // namespace fa_tune
