#include "engine/device/emulator/ir/wgmma.hpp"

#include <algorithm>

namespace fa_tune::emulator {
namespace {

constexpr std::uint32_t kFieldMask = 0x3fff;  // fields of a descriptor count 16 bytes
constexpr std::uint32_t kUnit = 16;
constexpr std::uint32_t kRowsACore = 8;

}  // namespace

MatrixDescriptor MatrixDescriptor::from(std::uint64_t bits) {
  MatrixDescriptor descriptor;
  const auto field = [&](int at) {
    return (static_cast<std::uint32_t>(bits >> at) & kFieldMask) * kUnit;
  };
  descriptor.start = field(0);
  descriptor.leading = field(16);
  descriptor.stride = field(32);
  descriptor.base = static_cast<std::uint32_t>(bits >> 49 & 7U);
  const auto mode = static_cast<unsigned>(bits >> 62);
  descriptor.swizzle_bits = mode == 0 ? 0 : 4 - mode;
  return descriptor;
}

std::uint32_t MatrixDescriptor::swizzle(std::uint32_t address) const {
  const std::uint32_t row = (address >> 7) - base;
  return address ^ (row & ((1U << swizzle_bits) - 1)) << 4;
}

// PTX ISA, "Strides" and "Canonical Layouts". Without a swizzle, core matrices of 8 rows of 16
// bytes: `leading` bytes between those side by side along k. With one, rows are as long as it
// spans.
std::uint32_t MatrixDescriptor::along_k(std::uint32_t row, std::uint32_t chunk) const {
  const std::uint32_t down = start + row / kRowsACore * stride;
  if (swizzle_bits == 0) return down + row % kRowsACore * kUnit + chunk * leading;
  return swizzle(down + row % kRowsACore * (kUnit << swizzle_bits) + chunk * kUnit);
}

// Without a swizzle `stride` lies between core matrices along m or n and `leading` between those
// along k; with one `leading` lies between the swizzle's spans along m or n and `stride` along k.
std::uint32_t MatrixDescriptor::across_k(std::uint32_t chunk, std::uint32_t k) const {
  const std::uint32_t core = k / kRowsACore;
  const std::uint32_t row = k % kRowsACore;
  if (swizzle_bits == 0) return start + chunk * stride + core * leading + row * kUnit;
  const std::uint32_t chunks = 1U << swizzle_bits;
  return swizzle(start + chunk / chunks * leading + core * stride + row * (kUnit << swizzle_bits) +
                 chunk % chunks * kUnit);
}

void SlotSet::clear() { std::fill(words_.begin(), words_.end(), 0); }

bool SlotSet::meets(std::span<const std::uint16_t> slots) const {
  return std::any_of(slots.begin(), slots.end(), [this](std::uint16_t each) { return has(each); });
}

void WgmmaFlight::start(std::size_t slots) {
  operations.clear();
  committed = 0;
  fenced = false;
  sums.resize(slots);
  sums.clear();
  unfenced.resize(slots);
  unfenced.clear();
}

}  // namespace fa_tune::emulator
