#include "engine/gate/guarded_buffer.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "engine/gate/compare.hpp"
#include "engine/util/bytes.hpp"

namespace fa_tune::gate {
namespace {

// More than this is written from where it lies, guards and data apart.
constexpr std::size_t kSmall = std::size_t{1} << 20;

constexpr std::size_t kGuardBytes = 4096;  // keeps 256-byte alignment

// No byte of it is as outputs are filled at first.
constexpr std::byte kOtherFill{0x4d};

// 0xfff1 to 0xffff in turn: as the upper half of anything wider still a NaN, in f16 and bf16 too.
std::byte guard_byte(std::size_t i) {
  return i % 2 == 1 ? std::byte{0xff} : static_cast<std::byte>(0xf1 + i / 2 % 15);
}

}  // namespace

std::span<const std::byte> guard_band() {
  static const std::vector<std::byte> bytes = [] {
    std::vector<std::byte> made(kGuardBytes);
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = guard_byte(i);
    return made;
  }();
  return bytes;
}

std::size_t guard_bytes_of(const device::Device& device, const problem::Tensor& tensor) {
  return device.info().checks && tensor.role == problem::Role::input ? 0 : kGuardBytes;
}

void fill_with(std::span<const std::byte> contents, device::BufferHandle buffer, std::size_t offset,
               std::size_t bytes, std::vector<device::BufferWrite>& writes) {
  for (std::size_t at = 0; at < bytes; at += contents.size())
    writes.push_back({buffer, offset + at, contents.first(std::min(contents.size(), bytes - at))});
}

std::uint8_t fill_byte(const problem::Tensor& tensor, bool otherwise) {
  return otherwise && is_integer(tensor.type) ? std::to_integer<std::uint8_t>(kOtherFill) : 0xff;
}

const std::vector<std::byte>& other_fill() {
  static const std::vector<std::byte> bytes(std::size_t{4} << 20, kOtherFill);
  return bytes;
}

void fill_with_ones(device::BufferHandle buffer, std::size_t offset, std::size_t bytes,
                    std::vector<device::BufferWrite>& writes) {
  static const std::vector<std::byte> ones(std::size_t{4} << 20, std::byte{0xff});
  fill_with(ones, buffer, offset, bytes, writes);
}

GuardedBuffer::GuardedBuffer(device::Device& device, const problem::Tensor& tensor)
    : device_(device),
      tensor_(tensor),
      guard_bytes_(guard_bytes_of(device, tensor)),
      data_bytes_(static_cast<std::size_t>(tensor.elements()) * size_of(tensor.type)),
      fetched_(std::in_place, data_bytes_ + 2 * guard_bytes_),
      buffer_(device.allocate(data_bytes_ + 2 * guard_bytes_)) {
  if (data_bytes_ <= kSmall) {
    written_.assign(data_bytes_ + 2 * guard_bytes_, std::byte{0xff});
    copy_bytes(guard_band().first(guard_bytes_), written_);
    copy_bytes(guard_band().first(guard_bytes_),
               std::span(written_).subspan(guard_bytes_ + data_bytes_));
  }
  if (problem::is_given(tensor.role)) replace(tensor.bytes);
}

GuardedBuffer::~GuardedBuffer() { device_.release(buffer_); }

void GuardedBuffer::replace(std::span<const std::byte> bytes) {
  source_ = bytes;
  if (!written_.empty()) copy_bytes(bytes, std::span(written_).subspan(guard_bytes_));
}

void GuardedBuffer::fill_otherwise() {
  if (problem::is_given(tensor_.role) || !is_integer(tensor_.type)) return;
  otherwise_ = true;
  if (!written_.empty())
    std::fill_n(written_.begin() + static_cast<std::ptrdiff_t>(guard_bytes_), data_bytes_,
                kOtherFill);
}

bool GuardedBuffer::unwritten(std::span<const std::byte> before,
                              std::span<const std::byte> now) const {
  return otherwise_ && is_untouched(tensor_, before, 0) &&
         std::ranges::all_of(now, [](std::byte each) { return each == kOtherFill; });
}

void GuardedBuffer::fill(std::vector<device::BufferWrite>& writes) const {
  if (!written_.empty()) {
    writes.push_back({buffer_, 0, written_});
    return;
  }
  if (problem::is_given(tensor_.role))
    writes.push_back({buffer_, guard_bytes_, source_});
  else if (otherwise_)
    fill_with(other_fill(), buffer_, guard_bytes_, data_bytes_, writes);
  else
    fill_with_ones(buffer_, guard_bytes_, data_bytes_, writes);
  fill_guards(writes);
}

void GuardedBuffer::fill_guards(std::vector<device::BufferWrite>& writes) const {
  if (guard_bytes_ == 0) return;
  writes.push_back({buffer_, 0, guard_band()});
  writes.push_back({buffer_, guard_bytes_ + data_bytes_, guard_band()});
}

void GuardedBuffer::fetch(std::vector<device::BufferRead>& reads) {
  reads.push_back({buffer_, 0, fetched_->make_all()});
}

void GuardedBuffer::fetch_guards(std::vector<device::BufferRead>& reads) {
  if (guard_bytes_ == 0) return;
  const std::size_t end = guard_bytes_ + data_bytes_;
  reads.push_back({buffer_, 0, fetched_->bytes().first(guard_bytes_)});
  reads.push_back({buffer_, end, fetched_->bytes().subspan(end)});
}

HostMemory GuardedBuffer::take_fetched() {
  HostMemory taken = std::move(*fetched_);
  fetched_.emplace(data_bytes_ + 2 * guard_bytes_);
  return taken;
}

std::optional<std::string> GuardedBuffer::guard_damage() const {
  const std::span<const std::byte> fetched = std::as_const(*fetched_).bytes();
  const std::size_t end = guard_bytes_ + data_bytes_;
  const auto changed = [&](std::size_t i) {
    return fetched[i] != guard_band()[i < guard_bytes_ ? i : i - end];
  };
  std::size_t before = 0, after = 0, nearest_before = 0, nearest_after = 0;
  for (std::size_t i = 0; i < guard_bytes_; ++i) {
    if (changed(i)) {
      ++before;
      nearest_before = guard_bytes_ - i;
    }
    const std::size_t beyond = end + guard_bytes_ - 1 - i;
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
  if (tensor_.role != problem::Role::input) return std::nullopt;
  const auto now = data();
  const auto differs = first_difference_of_large(now, source_);
  if (!differs) return std::nullopt;
  const std::size_t element = *differs / size_of(tensor_.type);
  const auto [was, is] = told_apart(tensor_.type, source_, now, element);
  return fmt::format("wrote to an input: {} was {} and is {}", element_name(tensor_, element), was,
                     is);
}

}  // namespace fa_tune::gate
