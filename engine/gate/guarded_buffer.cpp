#include "engine/gate/guarded_buffer.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "engine/base/bytes.hpp"
#include "engine/gate/compare.hpp"

namespace fa_tune {
namespace {

// 0xfff1 to 0xffff in turn: as the upper half of anything wider still a NaN, in f16 and bf16 too.
std::byte guard_byte(std::size_t i) {
  return i % 2 == 1 ? std::byte{0xff} : static_cast<std::byte>(0xf1 + i / 2 % 15);
}

}  // namespace

GuardedBuffer::GuardedBuffer(Device& device, const Tensor& tensor)
    : device_(device),
      tensor_(tensor),
      data_bytes_(static_cast<std::size_t>(tensor.elements()) * size_of(tensor.type)),
      written_(data_bytes_ + 2 * guard_bytes, std::byte{0xff}),
      fetched_(written_.size()),
      buffer_(device.allocate(written_.size())) {
  for (std::size_t i = 0; i < guard_bytes; ++i) {
    written_[i] = guard_byte(i);
    written_[guard_bytes + data_bytes_ + i] = guard_byte(i);
  }
  if (tensor.role == Role::input) replace(tensor.bytes);
}

GuardedBuffer::~GuardedBuffer() { device_.release(buffer_); }

void GuardedBuffer::replace(std::span<const std::byte> bytes) {
  copy_bytes(bytes, std::span(written_).subspan(guard_bytes));
}

std::span<const std::byte> GuardedBuffer::data() const {
  return std::span(fetched_).subspan(guard_bytes, data_bytes_);
}

std::optional<std::string> GuardedBuffer::guard_damage() const {
  const auto changed = [&](std::size_t i) { return fetched_[i] != written_[i]; };
  const std::size_t end = guard_bytes + data_bytes_;
  std::size_t before = 0, after = 0, nearest_before = 0, nearest_after = 0;
  for (std::size_t i = 0; i < guard_bytes; ++i) {
    if (changed(i)) {
      ++before;
      nearest_before = guard_bytes - i;
    }
    const std::size_t beyond = end + guard_bytes - 1 - i;
    if (changed(beyond)) {
      ++after;
      nearest_after = beyond - end;
    }
  }
  if (after > 0)
    return fmt::format("wrote past the end of {}: {} bytes changed, the first {} bytes beyond it",
                       tensor_.name, after, nearest_after);
  if (before > 0)
    return fmt::format(
        "wrote before the start of {}: {} bytes changed, the last {} bytes ahead of it",
        tensor_.name, before, nearest_before);
  return std::nullopt;
}

std::optional<std::string> GuardedBuffer::input_change() const {
  if (tensor_.role != Role::input) return std::nullopt;
  const auto now = data();
  const auto was = std::span(written_).subspan(guard_bytes, data_bytes_);
  const auto differs = first_difference(now, was);
  if (!differs) return std::nullopt;
  const std::size_t element = *differs / size_of(tensor_.type);
  return fmt::format("wrote to an input: {} was {:.6g} and is {:.6g}",
                     element_name(tensor_, element), element_value(tensor_.type, was, element),
                     element_value(tensor_.type, now, element));
}

}  // namespace fa_tune
