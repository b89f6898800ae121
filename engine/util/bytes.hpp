#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>

namespace fa_tune {

// Of g++ 12 the algorithms of the standard library go byte by byte over std::byte, which for
// tensors is ten times slower than this.

// `to` must be as long as `from`, or longer; they must not overlap.
inline void copy_bytes(std::span<const std::byte> from, std::span<std::byte> to) {
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
}

// Where two of the same length differ first, if they do.
inline std::optional<std::size_t> first_difference(std::span<const std::byte> a,
                                                   std::span<const std::byte> b) {
  if (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0) return std::nullopt;
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin());
}

}  // namespace fa_tune
