#include "engine/device/emulator/alu/lanes_real.hpp"

// f64 arithmetic. Every operation is correctly rounded to nearest by the processor; for the other
// directions the nearest result is moved by one unit where the sign of what it lacks asks for it.
// That sign comes from a format of 113 bits, in which products of two doubles are exact.

namespace fa_tune::emulator::FA_LANES {
namespace {

#ifdef __SIZEOF_FLOAT128__
__extension__ using Quad = __float128;
#else
using Quad = long double;
#endif

// `exact` decides like the exact value: it is it, or it is that rounded to odd.
template <Round R>
FA_INLINE double directed(double nearest, Quad exact) {
  const bool too_low = static_cast<Quad>(nearest) < exact;
  const bool too_high = static_cast<Quad>(nearest) > exact;
  const u64 bits = bits_of(nearest);
  const bool negative = (bits >> 63) != 0;
  bool up = too_low;
  bool down = too_high;
  if (R == Round::down || (R == Round::zero && exact > 0)) up = false;
  if (R == Round::up || (R == Round::zero && exact < 0)) down = false;
  if (!up && !down) return nearest;
  if ((bits & INT64_MAX) == 0) return double_of(down ? 0x8000000000000001U : 1U);
  return double_of(up != negative ? bits + 1 : bits - 1);
}

// Knuth's TwoSum again, of quads.
FA_INLINE Quad sum_odd(Quad a, Quad b) {
  const Quad sum = a + b;
  const Quad part = sum - a;
  const Quad error = (a - (sum - part)) + (b - part);
  __extension__ using Words = unsigned __int128;
  auto bits = __builtin_bit_cast(Words, sum);
  const bool exact = !(error > 0) && !(error < 0);
  if (exact || (bits & 1U) != 0) return sum;
  const bool outward = (error > 0) == (sum > 0);
  bits = outward ? bits + 1 : bits - 1;
  return __builtin_bit_cast(Quad, bits);
}

template <Round R>
FA_INLINE double directed_sum(Quad a, Quad b, double nearest) {
  const Quad exact = sum_odd(a, b);
  // An exact zero of opposite terms is -0 when rounding down.
  if (R == Round::down && exact == 0 && a != 0) return -0.0;
  return directed<R>(nearest, exact);
}

// What the nearest quotient or root lacks, as a value on its side of it. Zeros, infinities and NaN
// are exact.
template <Round R>
FA_INLINE double directed_by(double nearest, Quad lack) {
  if (lack == 0 || lack != lack) return nearest;
  const u64 bits = bits_of(nearest);
  if ((bits & INT64_MAX) == 0x7ff0000000000000U) {  // beyond the largest number, not infinite
    const bool inward = R == Round::zero || (R == Round::down) == ((bits >> 63) == 0);
    return inward ? double_of(bits - 1) : nearest;
  }
  const bool negative = (bits >> 63) != 0;
  const bool up = lack > 0 && (R == Round::up || (R == Round::zero && negative));
  const bool down = lack < 0 && (R == Round::down || (R == Round::zero && !negative));
  if (!up && !down) return nearest;
  if ((bits & INT64_MAX) == 0) {
    return up ? double_of(1) : double_of(0x8000000000000001U);
  }
  return double_of(up != negative ? bits + 1 : bits - 1);
}

FA_INLINE bool is_finite(double a) { return (bits_of(a) & INT64_MAX) < 0x7ff0000000000000U; }

template <Round R>
FA_INLINE double divided(double a, double b) {
  const double nearest = a / b;
  if (!is_finite(a) || !is_finite(b) || b == 0.0) return canonical(nearest);
  // Beyond the largest number the remainder would be infinite; any value on the right side will do.
  if (!is_finite(nearest)) return directed_by<R>(nearest, nearest > 0.0 ? -1 : 1);
  const Quad lack = static_cast<Quad>(a) - static_cast<Quad>(nearest) * static_cast<Quad>(b);
  return directed_by<R>(nearest, b > 0.0 ? lack : -lack);
}

template <Round R>
FA_INLINE double root_of(double a) {
  const double nearest = __builtin_sqrt(a);
  if (!is_finite(nearest)) return canonical(nearest);
  return directed_by<R>(
      nearest, static_cast<Quad>(a) - static_cast<Quad>(nearest) * static_cast<Quad>(nearest));
}

template <Round R>
FA_INLINE double added(double a, double b) {
  const double nearest = a + b;
  if (!is_finite(a) || !is_finite(b)) return canonical(nearest);
  return directed_sum<R>(a, b, nearest);
}
template <Round R>
FA_INLINE double multiplied(double a, double b) {
  const double nearest = a * b;
  if (!is_finite(a) || !is_finite(b)) return canonical(nearest);
  return directed<R>(nearest, static_cast<Quad>(a) * static_cast<Quad>(b));
}
template <Round R>
FA_INLINE double fused(double a, double b, double c) {
  const double nearest = __builtin_fma(a, b, c);
  if (!is_finite(a) || !is_finite(b) || !is_finite(c)) return canonical(nearest);
  return directed_sum<R>(static_cast<Quad>(a) * static_cast<Quad>(b), c, nearest);
}

template <Round R>
Handler in_direction(LaneOp op) {
  switch (op) {
    case LaneOp::add:
      return two<double, double, double>([](double a, double b) { return added<R>(a, b); });
    case LaneOp::sub:
      return two<double, double, double>([](double a, double b) { return added<R>(a, -b); });
    case LaneOp::mul:
      return two<double, double, double>([](double a, double b) { return multiplied<R>(a, b); });
    case LaneOp::fma:
      return three<double, double, double, double>(
          [](double a, double b, double c) { return fused<R>(a, b, c); });
    case LaneOp::div:
      return two<double, double, double>([](double a, double b) { return divided<R>(a, b); });
    case LaneOp::rcp:
      return one<double, double>([](double a) { return divided<R>(1.0, a); });
    case LaneOp::sqrt:
      return one<double, double>([](double a) { return root_of<R>(a); });
    default:
      return nullptr;
  }
}

// A double of which only the upper word counts, with subnormals as zero: the operand of
// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64; and a result rounded to such a one.
FA_INLINE double upper_word(double a) {
  const u64 bits = bits_of(a) & 0xffffffff00000000U;
  return double_of((bits & 0x7ff0000000000000U) == 0 ? bits & 0x8000000000000000U : bits);
}
FA_INLINE double to_upper_word(double a) {
  if (a != a) return double_of(0x7fffffff00000000U);
  return upper_word(double_of(bits_of(a) + (is_finite(a) ? 0x80000000U : 0U)));
}

Handler to_nearest(LaneOp op, bool upper) {
  switch (op) {
    case LaneOp::add:
      return two<double, double, double>([](double a, double b) { return canonical(a + b); });
    case LaneOp::sub:
      return two<double, double, double>([](double a, double b) { return canonical(a - b); });
    case LaneOp::mul:
      return two<double, double, double>([](double a, double b) { return canonical(a * b); });
    case LaneOp::fma:
      return three<double, double, double, double>(
          [](double a, double b, double c) { return canonical(__builtin_fma(a, b, c)); });
    case LaneOp::div:
      return two<double, double, double>([](double a, double b) { return canonical(a / b); });
    case LaneOp::min:
      return two<double, double, double>([](double a, double b) { return least(a, b); });
    case LaneOp::max:
      return two<double, double, double>(
          [](double a, double b) { return canonical(greatest(a, b)); });
    case LaneOp::abs:
      return one<double, double>([](double a) { return double_of(bits_of(a) & INT64_MAX); });
    case LaneOp::neg:
      return one<double, double>(
          [](double a) { return double_of(bits_of(a) ^ 0x8000000000000000U); });
    case LaneOp::sqrt:
      return one<double, double>([](double a) { return canonical(__builtin_sqrt(a)); });
    case LaneOp::rcp:
      if (upper) {
        return one<double, double>([](double a) { return to_upper_word(1.0 / upper_word(a)); });
      }
      return one<double, double>([](double a) { return canonical(1.0 / a); });
    case LaneOp::rsqrt:
      if (upper) {
        return one<double, double>(
            [](double a) { return to_upper_word(1.0 / __builtin_sqrt(upper_word(a))); });
      }
      return one<double, double>([](double a) { return canonical(1.0 / __builtin_sqrt(a)); });
    case LaneOp::copysign:
      return two<double, double, double>([](double a, double b) {
        return double_of((bits_of(a) & 0x8000000000000000U) | (bits_of(b) & INT64_MAX));
      });
    default:
      return nullptr;
  }
}

}  // namespace

Handler double_handler(const LaneKey& key) {
  if (key.sat || key.nan || key.relu || key.xorsign) return nullptr;
  const bool inverse = key.op == LaneOp::rcp || key.op == LaneOp::rsqrt;
  if (key.ftz || key.approx) {
    if (!inverse || !key.approx || key.round != Round::nearest) return nullptr;
    if (!key.ftz && key.op == LaneOp::rcp) return nullptr;
    return to_nearest(key.op, key.ftz);
  }
  switch (key.round) {
    case Round::nearest:
      return key.op == LaneOp::rsqrt ? nullptr : to_nearest(key.op, false);
    case Round::zero:
      return in_direction<Round::zero>(key.op);
    case Round::down:
      return in_direction<Round::down>(key.op);
    case Round::up:
      return in_direction<Round::up>(key.op);
  }
  return nullptr;
}

}  // namespace fa_tune::emulator::FA_LANES
