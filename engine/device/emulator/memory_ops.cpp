#include <bit>
#include <cstring>

#include "engine/device/emulator/access.hpp"
#include "engine/device/emulator/ops.hpp"

// ld and st, clock registers, isspacep. Fields as in access.hpp.

namespace fa_tune::emulator {
namespace {

Access access_of(const Op& op, bool write) { return {static_cast<Space>(op.m[0]), op.m[1], write}; }

// One value of E a lane to a register of words W: extended by E's sign.
template <class W, class E>
void gather(const Pointers& pointers, std::size_t offset, std::uint32_t mask, W* out) {
  for (std::size_t lane = 0; lane < warp_size; ++lane) {
    if ((mask >> lane & 1U) == 0) continue;
    E value;
    std::memcpy(&value, pointers[lane] + offset, sizeof(E));
    out[lane] = static_cast<W>(value);
  }
}

template <class W>
void gather_as(Type type, const Pointers& pointers, std::size_t offset, std::uint32_t mask,
               W* out) {
  switch (size_of(type)) {
    case 1:
      if (is_signed(type)) return gather<W, std::int8_t>(pointers, offset, mask, out);
      return gather<W, std::uint8_t>(pointers, offset, mask, out);
    case 2:
      if (type == Type::s16) return gather<W, std::int16_t>(pointers, offset, mask, out);
      return gather<W, std::uint16_t>(pointers, offset, mask, out);
    case 4:
      if (type == Type::s32) return gather<W, std::int32_t>(pointers, offset, mask, out);
      return gather<W, std::uint32_t>(pointers, offset, mask, out);
    default:
      return gather<W, std::uint64_t>(pointers, offset, mask, out);
  }
}

template <class W, class E>
void scatter(const W* values, const Pointers& pointers, std::size_t offset, std::uint32_t mask) {
  for (std::size_t lane = 0; lane < warp_size; ++lane) {
    if ((mask >> lane & 1U) == 0) continue;
    const E value = static_cast<E>(values[lane]);
    std::memcpy(pointers[lane] + offset, &value, sizeof(E));
  }
}

template <class W>
void scatter_as(int bytes, const W* values, const Pointers& pointers, std::size_t offset,
                std::uint32_t mask) {
  switch (bytes) {
    case 1:
      return scatter<W, std::uint8_t>(values, pointers, offset, mask);
    case 2:
      return scatter<W, std::uint16_t>(values, pointers, offset, mask);
    case 4:
      return scatter<W, std::uint32_t>(values, pointers, offset, mask);
    default:
      return scatter<W, std::uint64_t>(values, pointers, offset, mask);
  }
}

// Neighbouring lanes at neighbouring words: the usual way to read a tile.
bool contiguous(std::uint32_t mask, const Op& op, const Pointers& pointers) {
  if (mask != full_mask || op.m[1] != 4 || op.m[4] != 1 || op.m[5] != 4) return false;
  std::size_t apart = 0;
  for (std::size_t lane = 1; lane < warp_size; ++lane) {
    apart |= static_cast<std::size_t>(pointers[lane] - pointers[0]) ^ (4 * lane);
  }
  return apart == 0;
}

}  // namespace

void run_load(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  Warp& warp = warp_of(lanes);
  const Access access = access_of(op, false);
  Addresses addresses;
  Pointers pointers;
  compute_addresses(lanes, op, op.r[8], op.m[2], addresses);
  if (!resolve(warp, op, mask, access, addresses, pointers)) return;
  if (Counters* counters = warp.cta->counters()) count_access(*counters, mask, access, addresses);
  if (op.r[0] != no_operand && contiguous(mask, op, pointers)) {
    std::memcpy(target_slot(lanes, op.r[0]), pointers[0], warp_size * 4);
    return;
  }
  const Type type = static_cast<Type>(op.m[3]);
  const auto step = static_cast<std::size_t>(size_of(type));
  for (std::size_t i = 0; i < op.m[4]; ++i) {
    if (op.r[i] == no_operand) continue;
    if (op.m[5] == 8) {
      gather_as(type, pointers, i * step, mask, target_slot64(lanes, op.r[i]));
      continue;
    }
    std::uint32_t* out = target_slot(lanes, op.r[i]);
    gather_as(type, pointers, i * step, mask, out);
    if (op.m[5] == 2 && is_signed(type) && step == 1) {  // s8 to 16 bits: the rest stays zero
      for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        out[std::countr_zero(rest)] &= 0xffffU;
      }
    }
    if (op.m[5] == 2 && type == Type::s16) {
      for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        out[std::countr_zero(rest)] &= 0xffffU;
      }
    }
  }
}

void run_store(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  Warp& warp = warp_of(lanes);
  const Access access = access_of(op, true);
  Addresses addresses;
  Pointers pointers;
  compute_addresses(lanes, op, op.r[8], op.m[2], addresses);
  if (!resolve(warp, op, mask, access, addresses, pointers)) return;
  if (Counters* counters = warp.cta->counters()) count_access(*counters, mask, access, addresses);
  if (contiguous(mask, op, pointers)) {
    std::memcpy(pointers[0], slot(lanes, op.r[0]), warp_size * 4);
    return;
  }
  const int bytes = size_of(static_cast<Type>(op.m[3]));
  for (std::size_t i = 0; i < op.m[4]; ++i) {
    const std::size_t offset = i * static_cast<std::size_t>(bytes);
    if (op.m[5] == 8) {
      scatter_as(bytes, slot64(lanes, op.r[i]), pointers, offset, mask);
    } else {
      scatter_as(bytes, slot(lanes, op.r[i]), pointers, offset, mask);
    }
  }
}

// Time as a kernel sees it here: warp instructions of its CTA. m[5]: bytes of the target.
void run_clock(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  const std::uint64_t now = warp_of(lanes).cta->executed();
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    if (op.m[5] == 8) {
      target_slot64(lanes, op.r[0])[lane] = now;
    } else {
      target_slot(lanes, op.r[0])[lane] = static_cast<std::uint32_t>(now);
    }
  }
}

void run_isspacep(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  const Word64* addresses = slot64(lanes, op.r[1]);
  std::uint32_t holds = 0;
  for (std::uint32_t lane = 0; lane < warp_size; ++lane) {
    const std::uint64_t address = addresses[lane];
    bool is = false;
    switch (static_cast<Space>(op.m[0])) {
      case Space::shared:
        is = in_window(address, shared_window);
        break;
      case Space::local:
        is = in_window(address, local_window);
        break;
      case Space::param:
        is = in_window(address, param_window);
        break;
      default:
        is = address >= global_begin;
        break;
    }
    holds |= static_cast<std::uint32_t>(is) << lane;
  }
  std::uint32_t& word = lanes.predicates[op.r[0]];
  word = (word & ~mask) | (holds & mask);
}

void run_nothing(LaneFile&, const Op&, std::uint32_t) {}

}  // namespace fa_tune::emulator
