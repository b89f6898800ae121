#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <mutex>
#include <span>

#include "engine/device/emulator/alu/lanes_real.hpp"
#include "engine/device/emulator/memory/address_resolution.hpp"
#include "engine/device/emulator/memory/memory_ops.hpp"

// atom and red. Fields as in access.hpp; r[0]: the old value, or none; r[1], r[2]: operands;
// m[4]: MemoryOrder and MemoryScope, packed; m[6]: Atomic. Lanes go one after the other, lowest first.

namespace fa_tune::emulator {
namespace {

using plain::bfloat_from;
using plain::bfloat_to;
using plain::half_from;
using plain::half_to;

float real(std::uint64_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); }

// atom.add.f32 on global memory takes and gives subnormals as zeros, on shared memory it keeps them
// (PTX ISA, atom).
std::uint64_t flushed(std::uint64_t bits) {
  return (bits & 0x7f800000U) == 0 ? bits & 0x80000000U : bits;
}

// Every NaN that comes out is the one that the lanes' arithmetic gives.
std::uint64_t real_sum(std::uint64_t a, std::uint64_t b) {
  const float result = real(a) + real(b);
  return std::isnan(result) ? 0x7fffffffU : std::bit_cast<std::uint32_t>(result);
}

std::uint64_t sum(Type type, std::uint64_t a, std::uint64_t b) {
  switch (type) {
    case Type::f32:
      return real_sum(a, b);
    case Type::f64:
      return std::bit_cast<std::uint64_t>(std::bit_cast<double>(a) + std::bit_cast<double>(b));
    case Type::f16:
      return half_from(half_to(static_cast<std::uint32_t>(a)) +
                       half_to(static_cast<std::uint32_t>(b)));
    case Type::bf16:
      return bfloat_from(bfloat_to(static_cast<std::uint32_t>(a)) +
                         bfloat_to(static_cast<std::uint32_t>(b)));
    case Type::f16x2:
      return sum(Type::f16, a & 0xffffU, b & 0xffffU) | sum(Type::f16, a >> 16, b >> 16) << 16;
    case Type::bf16x2:
      return sum(Type::bf16, a & 0xffffU, b & 0xffffU) | sum(Type::bf16, a >> 16, b >> 16) << 16;
    default:
      return a + b;
  }
}

// min and max of halves: -0 below +0, a NaN loses to a number; two give 0x7fff.
std::uint64_t extreme_half(Type type, bool max, std::uint64_t a, std::uint64_t b) {
  const std::uint64_t infinite = type == Type::f16 ? 0x7c00U : 0x7f80U;
  const auto is_nan = [&](std::uint64_t bits) { return (bits & 0x7fffU) > infinite; };
  if (is_nan(a)) return is_nan(b) ? 0x7fffU : b;
  if (is_nan(b)) return a;
  const auto order = [](std::uint64_t bits) {
    const auto magnitude = static_cast<std::int64_t>(bits & 0x7fffU);
    return (bits & 0x8000U) != 0 ? -magnitude - 1 : magnitude;
  };
  return (order(a) < order(b)) != max ? a : b;
}
std::uint64_t extreme(Type type, bool max, std::uint64_t a, std::uint64_t b) {
  if (type == Type::f16 || type == Type::bf16) return extreme_half(type, max, a, b);
  const Type half = type == Type::f16x2 ? Type::f16 : Type::bf16;
  return extreme_half(half, max, a & 0xffffU, b & 0xffffU) |
         extreme_half(half, max, a >> 16, b >> 16) << 16;
}

bool less(Type type, std::uint64_t a, std::uint64_t b) {
  switch (type) {
    case Type::s32:
      return static_cast<std::int32_t>(a) < static_cast<std::int32_t>(b);
    case Type::s64:
      return static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b);
    case Type::f16:
      return half_to(static_cast<std::uint32_t>(a)) < half_to(static_cast<std::uint32_t>(b));
    case Type::bf16:
      return bfloat_to(static_cast<std::uint32_t>(a)) < bfloat_to(static_cast<std::uint32_t>(b));
    default:
      return a < b;
  }
}

std::uint64_t combine(Atomic what, Type type, std::uint64_t old, std::uint64_t b, std::uint64_t c) {
  switch (what) {
    case Atomic::add:
      return sum(type, old, b);
    case Atomic::min:
      if (is_float(type)) return extreme(type, false, old, b);
      return less(type, b, old) ? b : old;
    case Atomic::max:
      if (is_float(type)) return extreme(type, true, old, b);
      return less(type, old, b) ? b : old;
    case Atomic::inc:
      return old >= b ? 0 : old + 1;
    case Atomic::dec:
      return old == 0 || old > b ? b : old - 1;
    case Atomic::bit_and:
      return old & b;
    case Atomic::bit_or:
      return old | b;
    case Atomic::bit_xor:
      return old ^ b;
    case Atomic::exch:
      return b;
    case Atomic::cas:
      return old == b ? c : old;
  }
  return old;
}

// CTAs run on several threads, so the word is exchanged as one.
template <class Word>
std::uint64_t update(std::byte* pointer, Atomic what, Type type, bool flush, std::uint64_t b,
                     std::uint64_t c) {
  auto* word = reinterpret_cast<Word*>(pointer);
  Word old = __atomic_load_n(word, __ATOMIC_RELAXED);
  for (;;) {
    const auto changed = flush ? static_cast<Word>(flushed(real_sum(flushed(old), flushed(b))))
                               : static_cast<Word>(combine(what, type, old, static_cast<Word>(b),
                                                           static_cast<Word>(c)));
    if (__atomic_compare_exchange_n(word, &old, changed, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED)) {
      return old;
    }
  }
}

bool in_shared(const Access& access, std::uint64_t address) {
  if (access.space == Space::generic) return in_window(address, kSharedWindow);
  return access.space == Space::shared || access.space == Space::cluster;
}

// `flush`: f32 sums flush subnormals.
std::uint64_t update_sized(std::byte* pointer, std::size_t bytes, Atomic what, Type type,
                           bool flush, std::uint64_t b, std::uint64_t c) {
  if (bytes == 2) return update<std::uint16_t>(pointer, what, type, flush, b, c);
  if (bytes == 4) return update<std::uint32_t>(pointer, what, type, flush, b, c);
  return update<std::uint64_t>(pointer, what, type, flush, b, c);
}

// For the clock: what L2 has to do.
void record_global(Warp& warp, const Access& access, std::uint32_t mask, const Addresses& addresses,
                   bool is_real) {
  Record* record = warp.cta->record();
  if (record == nullptr || mask == 0) return;
  std::array<std::uint64_t, kWarpSize> reached{};
  std::size_t count = 0;
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const std::uint64_t address = addresses[static_cast<std::size_t>(std::countr_zero(rest))];
    if (!in_shared(access, address)) reached[count++] = address;
  }
  record->operate(std::span(reached).first(count), is_real);
}

}  // namespace

void reduce_elements(Atomic what, Type type, std::byte* to, const std::byte* from,
                     std::size_t bytes) {
  const auto width = static_cast<std::size_t>(size_of(type));
  for (std::size_t at = 0; at < bytes; at += width) {
    std::uint64_t value = 0;
    std::memcpy(&value, from + at, width);
    // Asynchronous sums on global memory flush as atom does; those on shared memory are whole
    // numbers.
    update_sized(to + at, width, what, type, type == Type::f32, value, 0);
  }
}

void run_atomic(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  Warp& warp = warp_of(lanes);
  const Access access{.space = static_cast<Space>(op.m[0]),
                      .bytes = op.m[1],
                      .write = true,
                      .order = order_in(op.m[4]),
                      .scope = scope_in(op.m[4])};
  Addresses addresses;
  Pointers pointers;
  if (!reach(warp, op, mask, access, addresses, pointers)) return;
  const auto type = static_cast<Type>(op.m[3]);
  const auto what = static_cast<Atomic>(op.m[6]);
  record_global(warp, access, mask, addresses, is_float(type));
  const auto operand = [&](std::uint16_t index, int lane) -> std::uint64_t {
    if (index == kNoOperand) return 0;
    return op.m[5] == 8 ? std::uint64_t{slot64(lanes, index)[lane]} : slot(lanes, index)[lane];
  };
  PollHash found(mask);
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    std::byte* pointer = pointers[static_cast<std::size_t>(lane)];
    const std::uint64_t b = operand(op.r[1], lane);
    const std::uint64_t c = operand(op.r[2], lane);
    const bool flush = type == Type::f32 && what == Atomic::add &&
                       !in_shared(access, addresses[static_cast<std::size_t>(lane)]);
    const std::uint64_t old = update_sized(pointer, op.m[1], what, type, flush, b, c);
    if (op.r[0] == kNoOperand) continue;
    found.add(addresses[static_cast<std::size_t>(lane)]);
    found.add(old);
    if (op.m[5] == 8) {
      target_slot64(lanes, op.r[0])[lane] = old;
    } else {
      target_slot(lanes, op.r[0])[lane] = static_cast<std::uint32_t>(old);
    }
  }
  if (op.r[0] != kNoOperand && is_global(addresses, mask)) note_poll(warp, op, found.value());
}

// cas and exch of 128 bits: r[0], r[1]: the old value's halves, or none; r[2], r[3]: b; r[4], r[5]:
// c. Threads of the machine take turns: few have an instruction for it.
void run_atomic_quad(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  static std::mutex turn;
  Warp& warp = warp_of(lanes);
  const Access access{.space = static_cast<Space>(op.m[0]),
                      .bytes = op.m[1],
                      .write = true,
                      .order = order_in(op.m[4]),
                      .scope = scope_in(op.m[4])};
  Addresses addresses;
  Pointers pointers;
  if (!reach(warp, op, mask, access, addresses, pointers)) return;
  record_global(warp, access, mask, addresses, false);
  const bool comparing = static_cast<Atomic>(op.m[6]) == Atomic::cas;
  const std::scoped_lock lock(turn);
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    std::byte* pointer = pointers[static_cast<std::size_t>(lane)];
    std::array<std::uint64_t, 2> old{};
    std::memcpy(old.data(), pointer, sizeof(old));
    const auto value = [&](std::size_t first) {
      return std::array<std::uint64_t, 2>{slot64(lanes, op.r[first])[lane],
                                          slot64(lanes, op.r[first + 1])[lane]};
    };
    if (!comparing || old == value(2)) {
      const std::array<std::uint64_t, 2> changed = value(comparing ? 4 : 2);
      std::memcpy(pointer, changed.data(), sizeof(changed));
    }
    for (std::size_t i = 0; i < 2; ++i) {
      if (op.r[i] != kNoOperand) target_slot64(lanes, op.r[i])[lane] = old[i];
    }
  }
}

}  // namespace fa_tune::emulator
