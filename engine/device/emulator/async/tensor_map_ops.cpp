#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "engine/device/emulator/async/async_copy.hpp"
#include "engine/device/emulator/async/tensor_map.hpp"
#include "engine/device/emulator/sanitizer/sanitizer.hpp"

// Tensor maps that kernels make or change.

namespace fa_tune::emulator {
namespace {

constexpr std::uint32_t kBytes = sizeof(TensorMapBits);
constexpr std::uint32_t kMapAlignment = 64;  // of a CUtensorMap
constexpr std::uint64_t kAddressAlignment = 16;
constexpr std::uint64_t kMostStride = std::uint64_t{1} << 40;

// Tells the Sanitizer, if there is one, that lanes access whole tensor maps. It takes 16 bytes at a
// time. False after a report.
bool watch(Warp& warp, const Op& op, std::uint32_t mask, Space space, const Addresses& addresses,
           bool write) {
  Sanitizer* const sanitizer = warp.cta->sanitizer();
  if (sanitizer == nullptr) return true;
  constexpr std::uint32_t piece = 16;
  const Access access{.space = space, .bytes = piece, .write = write};
  for (std::uint32_t at = 0; at < kBytes; at += piece) {
    Addresses pieces = addresses;
    for (std::uint64_t& address : pieces) address += at;
    if (!sanitizer->access(warp, op, mask, access, pieces)) return false;
  }
  return true;
}

// A map may be changed, and zeros may become one, as Triton's kernels begin with them. Zeros have
// no rank, no element type and no steps until these are set.
std::optional<TensorMapBits> changeable(const std::byte* bytes) {
  TensorMapBits bits;
  std::memcpy(&bits, bytes, sizeof(bits));
  if (bits.magic == TensorMapBits::kExpectedMagic) return bits;
  const bool zeros =
      std::all_of(bytes, bytes + kBytes, [](std::byte b) { return b == std::byte{}; });
  if (!zeros) return std::nullopt;
  bits.magic = TensorMapBits::kExpectedMagic;
  return bits;
}

// What is wrong with the new value, by the rules of cuTensorMapEncodeTiled; empty if it is right
// and the map has it.
std::string change(TensorMapBits& bits, TensorMapField field, std::uint8_t which,
                   std::uint64_t value) {
  switch (field) {
    case TensorMapField::address:
      if (value % kAddressAlignment != 0) {
        return fmt::format("the address 0x{:x} for a tensor map, no multiple of 16", value);
      }
      bits.address = value;
      return "";
    case TensorMapField::rank:
      if (value >= bits.last.size()) {
        return fmt::format("{} for the rank less one of a tensor map; 0 to 4 go", value);
      }
      bits.rank = static_cast<std::uint8_t>(value + 1);
      return "";
    case TensorMapField::box:
      if (value == 0 || value > 256) {
        return fmt::format("box size {} of a tensor map is {}; 1 to 256 go", which, value);
      }
      bits.box_last[which] = static_cast<std::uint8_t>(value - 1);
      return "";
    case TensorMapField::dim:
      if (value == 0) return fmt::format("dimension {} of a tensor map has 0 elements", which);
      bits.last[which] = static_cast<std::uint32_t>(value - 1);
      return "";
    case TensorMapField::stride:
      if (value % kAddressAlignment != 0 || value >= kMostStride) {
        return fmt::format("stride {} of a tensor map is {} bytes, no multiple of 16 below 2^40",
                           which + 1, value);
      }
      bits.strides[which] = value;
      return "";
    case TensorMapField::step:
      if (value == 0 || value > 8) {
        return fmt::format("element step {} of a tensor map is {}; 1 to 8 go", which, value);
      }
      bits.steps[which] = static_cast<std::uint8_t>(value);
      return "";
    case TensorMapField::element:
      bits.element = static_cast<TensorElement>(which);
      bits.element_bytes = static_cast<std::uint8_t>(size_of(type_of(bits.element)));
      return "";
    case TensorMapField::swizzle:
      bits.swizzle = which;
      return "";
    case TensorMapField::nan_fill:
      bits.nan_fill = which;
      return "";
    case TensorMapField::nothing:
      return "";
  }
  return "";
}

}  // namespace

void run_tensor_map_replace(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  Warp& warp = warp_of(lanes);
  const auto space = static_cast<Space>(op.m[0]);
  const Access whole{.space = space,
                     .bytes = kBytes,
                     .write = true,
                     .order = MemoryOrder::unwatched,
                     .align = kMapAlignment};
  Addresses addresses;
  Pointers pointers;
  compute_addresses(lanes, op, op.r[8], op.m[2], addresses);
  // The ISA has it as an access to the whole map.
  if (!resolve(warp, op, mask, whole, addresses, pointers) ||
      !watch(warp, op, mask, space, addresses, false) ||
      !watch(warp, op, mask, space, addresses, true)) {
    return;
  }
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    std::byte* const where = pointers[static_cast<std::size_t>(lane)];
    std::uint64_t value = 0;
    if (op.r[0] != kNoOperand) {
      value =
          op.m[5] == 8 ? std::uint64_t{slot64(lanes, op.r[0])[lane]} : slot(lanes, op.r[0])[lane];
    }
    auto bits = changeable(where);
    const std::string wrong =
        bits ? change(*bits, static_cast<TensorMapField>(op.m[4]), op.m[3], value)
             : "there is neither a tensor map to change nor 128 zero bytes";
    if (!wrong.empty()) {
      warp.cta->report(DiagnosticKind::sync, warp, op, lane, wrong);
      return;
    }
    std::memcpy(where, &*bits, sizeof(*bits));
  }
}

void run_tensor_map_copy(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  Warp& warp = warp_of(lanes);
  const int first = std::countr_zero(mask);
  Addresses to;
  Addresses from;
  to.fill(bulk_operand(lanes, op, 0, first));
  from.fill(bulk_operand(lanes, op, 1, first));
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    if (bulk_operand(lanes, op, 0, lane) == to[0] && bulk_operand(lanes, op, 1, lane) == from[0]) {
      continue;
    }
    warp.cta->report(DiagnosticKind::sync, warp, op, lane,
                     fmt::format("another tensor map than thread {} of its warp copies", first));
    return;
  }
  const std::byte* const source = resolve_one(
      warp, op, first, {.space = Space::shared, .bytes = kBytes, .align = kMapAlignment}, from[0]);
  if (source == nullptr) return;
  std::byte* const target = resolve_one(
      warp, op, first,
      {.space = Space::generic, .bytes = kBytes, .write = true, .align = kMapAlignment}, to[0]);
  const std::uint32_t one = 1U << first;
  if (target == nullptr || !watch(warp, op, mask, Space::shared, from, false) ||
      !watch(warp, op, one, Space::generic, to, true)) {
    return;
  }
  std::memcpy(target, source, kBytes);
}

}  // namespace fa_tune::emulator
