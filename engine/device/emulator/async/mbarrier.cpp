#include "engine/device/emulator/async/mbarrier.hpp"

namespace fa_tune::emulator {
namespace {

// Bits 0-19 pending arrivals, 20-39 expected arrivals, 40-60 pending bytes (two's complement), 61
// parity, 62 one, 63 zero.
constexpr int kExpectedAt = 20;
constexpr int kBytesAt = 40;
constexpr int kParityAt = 61;
constexpr std::uint64_t kCountMask = Mbarrier::kMostCount;
constexpr std::uint64_t kBytesMask = (std::uint64_t{1} << 21) - 1;
constexpr std::uint64_t kTag = std::uint64_t{1} << 62;
constexpr std::uint64_t kTagMask = std::uint64_t{3} << 62;
// PTX ISA: the tx-count stays within 2^20 - 1 either way.
constexpr std::int32_t kMostBytes = (1 << 20) - 1;

}  // namespace

Mbarrier Mbarrier::initialized(std::uint32_t count) {
  Mbarrier barrier(0);
  barrier.set(count, count, 0, 0);
  return barrier;
}

std::optional<Mbarrier> Mbarrier::from(std::uint64_t bits) {
  if ((bits & kTagMask) != kTag) return std::nullopt;
  return Mbarrier(bits);
}

std::uint32_t Mbarrier::expected() const {
  return static_cast<std::uint32_t>(bits_ >> kExpectedAt & kCountMask);
}
std::uint32_t Mbarrier::pending() const { return static_cast<std::uint32_t>(bits_ & kCountMask); }
std::int32_t Mbarrier::pending_bytes() const {
  const auto field = static_cast<std::uint32_t>(bits_ >> kBytesAt & kBytesMask);
  return static_cast<std::int32_t>(field << 11) >> 11;
}
std::uint32_t Mbarrier::parity() const {
  return static_cast<std::uint32_t>(bits_ >> kParityAt & 1U);
}

void Mbarrier::set(std::uint32_t expected, std::uint32_t pending, std::int32_t bytes,
                   std::uint32_t parity) {
  bits_ = kTag | std::uint64_t{parity} << kParityAt |
          (static_cast<std::uint64_t>(static_cast<std::uint32_t>(bytes)) & kBytesMask) << kBytesAt |
          std::uint64_t{expected} << kExpectedAt | pending;
}

Mbarrier::Change Mbarrier::settle(std::uint32_t expected, std::uint32_t pending,
                                  std::int32_t bytes) {
  if (pending == 0 && bytes == 0) {
    set(expected, expected, 0, parity() ^ 1U);
    return {{}, true};
  }
  set(expected, pending, bytes, parity());
  return {};
}

Mbarrier::Change Mbarrier::arrive(std::uint32_t count) {
  if (count == 0 || count > pending()) {
    return {"more threads arrive than the phase waits for", false};
  }
  return settle(expected(), pending() - count, pending_bytes());
}

Mbarrier::Change Mbarrier::arrive_and_drop(std::uint32_t count) {
  if (count == 0 || count > pending() || count > expected()) {
    return {"more threads arrive than the phase waits for", false};
  }
  return settle(expected() - count, pending() - count, pending_bytes());
}

Mbarrier::Change Mbarrier::expect_bytes(std::uint32_t bytes) {
  if (bytes > static_cast<std::uint32_t>(kMostBytes) ||
      pending_bytes() + static_cast<std::int32_t>(bytes) > kMostBytes) {
    return {"more bytes are expected than an mbarrier counts (2^20 - 1)", false};
  }
  // No phase ends by expecting more.
  set(expected(), pending(), pending_bytes() + static_cast<std::int32_t>(bytes), parity());
  return {};
}

Mbarrier::Change Mbarrier::complete_bytes(std::uint32_t bytes) {
  if (bytes > static_cast<std::uint32_t>(kMostBytes) ||
      pending_bytes() - static_cast<std::int32_t>(bytes) < -kMostBytes) {
    return {"more bytes have come than an mbarrier counts (2^20 - 1)", false};
  }
  return settle(expected(), pending(), pending_bytes() - static_cast<std::int32_t>(bytes));
}

Mbarrier::Change Mbarrier::expect_arrival() {
  if (pending() == kMostCount) return {"more arrivals are pending than an mbarrier counts", false};
  set(expected(), pending() + 1, pending_bytes(), parity());
  return {};
}

}  // namespace fa_tune::emulator
