#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>

#include "engine/util/parallel.hpp"

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

// bytes.hpp for what is hundreds of megabytes: one core moves a tenth of what a server's memory
// can. A worker must not use these: it may start no threads.

constexpr std::size_t kPieceBytes = std::size_t{4} << 20;
// More do not move more, and others want cores too.
constexpr std::size_t kCopyingThreads = 6;

inline std::size_t pieces_of(std::size_t bytes) { return (bytes + kPieceBytes - 1) / kPieceBytes; }

// `to` must be as long as `from`, or longer; they must not overlap.
inline void copy_large(std::span<const std::byte> from, std::span<std::byte> to) {
  in_parallel(pieces_of(from.size()), kCopyingThreads, [&](std::size_t i) {
    const std::size_t at = i * kPieceBytes;
    copy_bytes(from.subspan(at, std::min(kPieceBytes, from.size() - at)), to.subspan(at));
  });
}

// Where two of the same length differ first, if they do.
inline std::optional<std::size_t> first_difference_of_large(std::span<const std::byte> a,
                                                            std::span<const std::byte> b) {
  std::atomic<std::size_t> first = a.size();
  in_parallel(pieces_of(a.size()), kCopyingThreads, [&](std::size_t i) {
    const std::size_t at = i * kPieceBytes, count = std::min(kPieceBytes, a.size() - at);
    const auto differs = first_difference(a.subspan(at, count), b.subspan(at, count));
    if (!differs) return;
    std::size_t known = first;
    while (at + *differs < known && !first.compare_exchange_weak(known, at + *differs)) {
    }
  });
  return first == a.size() ? std::nullopt : std::optional<std::size_t>(first);
}

}  // namespace fa_tune
