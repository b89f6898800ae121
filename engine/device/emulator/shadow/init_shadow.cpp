#include "engine/device/emulator/shadow/init_shadow.hpp"

#include <algorithm>

namespace fa_tune::emulator {
namespace {

// Bits [from, from + count) of a word.
std::uint64_t bits_of(std::size_t from, std::size_t count) {
  return (count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1) << from;
}

}  // namespace

void InitShadow::mark(std::size_t offset, std::size_t bytes) {
  const std::size_t end = offset + bytes;
  while (offset < end) {
    const std::size_t count = std::min(64 - offset % 64, end - offset);
    bits_[offset / 64] |= bits_of(offset % 64, count);
    offset += count;
  }
}

void InitShadow::unmark(std::size_t offset, std::size_t bytes) {
  for (std::size_t i = offset; i < offset + bytes; ++i)
    bits_[i / 64] &= ~(std::uint64_t{1} << i % 64);
}

InitShadow::Missing InitShadow::missing(std::size_t offset, std::size_t bytes) const {
  Missing missing;
  for (std::size_t i = 0; i < bytes; ++i) {
    if (written(offset + i, 1) != 0) continue;
    if (missing.count++ == 0) missing.first = i;
  }
  return missing;
}

bool InitShadow::all(std::size_t offset, std::size_t bytes) const {
  const std::size_t end = offset + bytes;
  while (offset < end) {
    const std::size_t count = std::min(64 - offset % 64, end - offset);
    const std::uint64_t wanted = bits_of(offset % 64, count);
    if ((bits_[offset / 64] & wanted) != wanted) return false;
    offset += count;
  }
  return true;
}

}  // namespace fa_tune::emulator
