#include "engine/device/emulator/alu/lanes_map.hpp"

// add, sub and mad with carry (PTX ISA, extended-precision integer arithmetic). The carry of each
// lane is a predicate: r[4] is read if there is one, r[5] is written if there is one. A borrow is a
// carry that is set.

namespace fa_tune::emulator::FA_LANES {
namespace {

__extension__ using u128 = unsigned __int128;

template <class U>
struct Product;
template <>
struct Product<u32> {
  using Type = u64;
};
template <>
struct Product<u64> {
  using Type = u128;
};

// T: the type with its sign, which counts for the upper half of a product alone.
template <class T, class U, LaneOp What>
void run_carry(LaneFile& lanes, const Op& op, u32 mask) {
  Target<U> target(lanes, op, mask);
  const auto* a = source<U>(lanes, op.r[1]);
  const auto* b = source<U>(lanes, op.r[2]);
  const auto* c = What == LaneOp::mad_lo_carry || What == LaneOp::mad_hi_carry
                      ? source<U>(lanes, op.r[3])
                      : nullptr;
  const u32 in = op.r[4] == kNoOperand ? 0 : lanes.predicates[op.r[4]];
  u32 out = 0;
  for (u32 i = 0; i < kWarpSize; ++i) {
    U x = static_cast<U>(a[i]);
    U y = static_cast<U>(b[i]);
    if constexpr (What == LaneOp::mad_lo_carry) {
      x = static_cast<U>(x * y);
      y = static_cast<U>(c[i]);
    } else if constexpr (What == LaneOp::mad_hi_carry) {
      // The product of signed numbers is sign-extended to twice the width.
      using W = typename Product<U>::Type;
      W product = static_cast<W>(x) * y;
      if constexpr (static_cast<T>(-1) < 0) {
        if (static_cast<T>(x) < 0) product -= static_cast<W>(y) << (8 * sizeof(U));
        if (static_cast<T>(y) < 0) product -= static_cast<W>(x) << (8 * sizeof(U));
      }
      x = static_cast<U>(product >> (8 * sizeof(U)));
      y = static_cast<U>(c[i]);
    }
    const U carry = in >> i & 1U;
    U sum = 0;
    bool over = false;
    if constexpr (What == LaneOp::sub_carry) {
      sum = static_cast<U>(x - y - carry);
      over = x < y || (x == y && carry != 0);
    } else {
      sum = static_cast<U>(x + y + carry);
      over = sum < x || (sum == x && carry != 0);
    }
    target.out[i] = sum;
    out |= static_cast<u32>(over) << i;
  }
  target.finish();
  if (op.r[5] == kNoOperand) return;
  u32& word = lanes.predicates[op.r[5]];
  word = (word & ~mask) | (out & mask);
}

template <class T, class U>
Handler of_type(LaneOp op) {
  switch (op) {
    case LaneOp::add_carry:
      return run_carry<T, U, LaneOp::add_carry>;
    case LaneOp::sub_carry:
      return run_carry<T, U, LaneOp::sub_carry>;
    case LaneOp::mad_lo_carry:
      return run_carry<T, U, LaneOp::mad_lo_carry>;
    case LaneOp::mad_hi_carry:
      return run_carry<T, U, LaneOp::mad_hi_carry>;
    default:
      return nullptr;
  }
}

}  // namespace

Handler carry_handler(const LaneKey& key) {
  switch (key.type) {
    case Type::u32:
      return of_type<u32, u32>(key.op);
    case Type::s32:
      return of_type<s32, u32>(key.op);
    case Type::u64:
      return of_type<u64, u64>(key.op);
    case Type::s64:
      return of_type<s64, u64>(key.op);
    default:
      return nullptr;
  }
}

}  // namespace fa_tune::emulator::FA_LANES
