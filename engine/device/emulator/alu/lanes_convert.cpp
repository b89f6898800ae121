#include "engine/device/emulator/alu/lanes_real.hpp"

// cvt. The common conversions have loops of their own; all others go through one general path, a
// lane at a time, by way of a double or an integer of 64 bits. The destination register may be
// wider than the type: integers are then extended by their sign.

namespace fa_tune::emulator::FA_LANES {
namespace {

// The general path's parameters, as decode_values.cpp leaves them in Op::m.
struct General {
  Type to;
  Type from;
  Round round;
  bool integral;
  bool ftz;
  bool sat;
  bool relu;
  bool finite;  // .satfinite
  bool away;    // ties away from zero, of tf32 alone
};
FA_INLINE General general(const Op& op) {
  return {static_cast<Type>(op.m[0]), static_cast<Type>(op.m[1]), static_cast<Round>(op.m[2]),
          (op.m[3] & 1U) != 0,        (op.m[3] & 2U) != 0,        (op.m[3] & 4U) != 0,
          (op.m[3] & 8U) != 0,        (op.m[3] & 16U) != 0,       (op.m[3] & 32U) != 0};
}

FA_INLINE double whole(double value, Round round) {
  switch (round) {
    case Round::nearest:
      return __builtin_rint(value);
    case Round::zero:
      return __builtin_trunc(value);
    case Round::down:
      return __builtin_floor(value);
    case Round::up:
      return __builtin_ceil(value);
  }
  return value;
}

FA_INLINE s64 integer_of(u64 bits, Type type) {
  switch (size_of(type)) {
    case 1:
      return is_signed(type) ? s64{static_cast<s8>(bits)} : s64{static_cast<u8>(bits)};
    case 2:
      return is_signed(type) ? s64{static_cast<s16>(bits)} : s64{static_cast<u16>(bits)};
    case 4:
      return is_signed(type) ? s64{static_cast<s32>(bits)} : s64{static_cast<u32>(bits)};
    default:
      return static_cast<s64>(bits);
  }
}

FA_INLINE double real_of(u64 bits, Type type, bool ftz) {
  switch (type) {
    case Type::f16:
      return static_cast<double>(half_to(static_cast<u16>(bits)));
    case Type::bf16:
      return static_cast<double>(bfloat_to(static_cast<u16>(bits)));
    case Type::f64:
      return double_of(bits);
    default: {
      const float value = float_of(static_cast<u32>(bits));
      return static_cast<double>(ftz ? flush(value) : value);
    }
  }
}

// A real to an integer: out of range goes to the nearest end. NaN gives 0, or where 64 bits take
// part the highest bit alone.
FA_INLINE u64 integer_from(double value, Type from, Type to, Round round) {
  const double rounded = whole(value, round);
  const int width = 8 * size_of(to);
  if (rounded != rounded) {
    const bool wide = from == Type::f64 || width == 64;
    const u64 top = u64{1} << (width - 1);
    return wide ? static_cast<u64>(integer_of(top, to)) : 0;
  }
  if (is_signed(to)) {
    const auto limit = static_cast<double>(u64{1} << (width - 1));
    if (rounded >= limit) return (u64{1} << (width - 1)) - 1;
    if (rounded < -limit) return static_cast<u64>(integer_of(u64{1} << (width - 1), to));
    return static_cast<u64>(static_cast<s64>(rounded));
  }
  if (rounded <= 0.0) return 0;
  const double limit = 2.0 * static_cast<double>(u64{1} << (width - 1));
  if (rounded >= limit) return width == 64 ? ~u64{0} : (u64{1} << width) - 1;
  return static_cast<u64>(rounded);
}

// An integer clamped to another's range.
FA_INLINE u64 clamp_integer(u64 bits, Type from, Type to) {
  const s64 value = integer_of(bits, from);
  const bool huge = from == Type::u64 && value < 0;  // above every signed range
  const int width = 8 * size_of(to);
  if (is_signed(to)) {
    const s64 top = static_cast<s64>((u64{1} << (width - 1)) - 1);
    if (huge || value > top) return static_cast<u64>(top);
    return static_cast<u64>(value < -top - 1 ? -top - 1 : value);
  }
  if (value < 0 && !huge) return 0;
  const u64 top = width == 64 ? ~u64{0} : (u64{1} << width) - 1;
  return static_cast<u64>(value) > top ? top : static_cast<u64>(value);
}

// A double (exact, or rounded to odd where it was not) to a format of 16 bits in a direction.
FA_INLINE u32 sixteen_from(double value, Type to, Round round) {
  const float odd = [&] {
    const auto nearest = static_cast<float>(value);
    const double error = value - static_cast<double>(nearest);
    const u32 bits = bits_of(nearest);
    const bool exact = !(error > 0.0) && !(error < 0.0);
    if (exact || (bits & 1U) != 0 || (bits & 0x7fffffffU) == 0) {
      return nearest;
    }
    const bool outward = (error > 0.0) == (nearest > 0.0F);
    return float_of(outward ? bits + 1 : bits - 1);
  }();
  const bool half = to == Type::f16;
  const u32 nearest = half ? half_from(odd) : bfloat_from(odd);
  const float back = half ? half_to(nearest) : bfloat_to(nearest);
  const bool exact = !(back < odd) && !(back > odd);
  if (round == Round::nearest || exact) return nearest;
  const bool too_high = back > odd;
  bool move = false;
  if (round == Round::zero) move = (odd > 0.0F) == too_high;
  if (round == Round::down) move = too_high;
  if (round == Round::up) move = !too_high;
  if (!move) return nearest;
  if ((nearest & 0x7fffU) == 0) return too_high ? 0x8001U : 1U;
  const bool inward = too_high == ((nearest & 0x8000U) == 0);
  return inward ? nearest - 1 : nearest + 1;
}

// tf32: the low 13 bits of a float go.
FA_INLINE u32 tf32_from(u32 bits, const General& key) {
  const u32 magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return 0x7fffffffU;
  if (key.relu && (bits >> 31) != 0) return 0;
  u32 result = bits & ~0x1fffU;
  if (magnitude < 0x7f800000U) {
    if (key.away) result = (bits + 0x1000U) & ~0x1fffU;
    if (!key.away && key.round == Round::nearest) {
      result = (bits + 0xfffU + (bits >> 13 & 1U)) & ~0x1fffU;
    }
  }
  const bool infinite = (result & 0x7fffffffU) == 0x7f800000U;
  return key.finite && infinite ? (result & 0x80000000U) | 0x7f7fe000U : result;
}

// .satfinite: the largest number instead of an infinity.
FA_INLINE u32 finite_sixteen(u32 bits, Type to) {
  const u32 infinite = to == Type::f16 ? 0x7c00U : 0x7f80U;
  return (bits & 0x7fffU) == infinite ? bits - 1U : bits;
}

FA_INLINE u64 real_from(double value, const General& key) {
  if (key.relu && !(value > 0.0)) value = value == value ? 0.0 : value;
  if (key.sat) {
    value = value > 0.0 ? value : 0.0;
    value = value < 1.0 ? value : 1.0;
  }
  switch (key.to) {
    case Type::f16:
    case Type::bf16:
      return key.finite ? finite_sixteen(sixteen_from(value, key.to, key.round), key.to)
                        : sixteen_from(value, key.to, key.round);
    case Type::f64:
      return bits_of(canonical(value));
    default: {
      float result = round_to_float(value, key.integral ? Round::nearest : key.round);
      if (key.ftz) result = flush(result);
      return bits_of(canonical(result));
    }
  }
}

// Integers of 64 bits do not fit a double: they are rounded to odd to 53 bits first.
FA_INLINE double odd_double(u64 magnitude) {
  const int extra = 11 - (magnitude == 0 ? 64 : __builtin_clzll(magnitude));
  if (extra <= 0) return static_cast<double>(magnitude);
  const u64 lost = magnitude & ((u64{1} << extra) - 1);
  u64 kept = magnitude >> extra;
  kept |= lost != 0 ? 1U : 0U;
  return static_cast<double>(kept) * static_cast<double>(u64{1} << extra);
}

FA_INLINE u64 convert_lane(u64 bits, const General& key) {
  if (key.to == Type::tf32) return tf32_from(static_cast<u32>(bits), key);
  if (is_float(key.from)) {
    const double value = real_of(bits, key.from, key.ftz);
    if (!is_float(key.to)) return integer_from(value, key.from, key.to, key.round);
    return real_from(key.integral ? whole(value, key.round) : value, key);
  }
  if (!is_float(key.to)) {
    if (key.sat) return clamp_integer(bits, key.from, key.to);
    return static_cast<u64>(integer_of(static_cast<u64>(integer_of(bits, key.from)), key.to));
  }
  const s64 value = integer_of(bits, key.from);
  const bool negative = value < 0 && is_signed(key.from);
  const u64 magnitude = negative ? u64{0} - static_cast<u64>(value) : static_cast<u64>(value);
  if (key.to == Type::f64) {
    const auto nearest = static_cast<double>(magnitude);
    return bits_of(negative ? -nearest : nearest);
  }
  const double odd = odd_double(magnitude);
  return real_from(negative ? -odd : odd, key);
}

// m[4]: bit 0: the source register has 64 bits; bit 1: the target has.
void run_general(LaneFile& lanes, const Op& op, u32 mask) {
  const General key = general(op);
  u64 result[kWarpSize];
  for (int i = 0; i < kWarpSize; ++i) {
    const u64 bits =
        (op.m[4] & 1U) != 0 ? source<u64>(lanes, op.r[1])[i] : u64{source<u32>(lanes, op.r[1])[i]};
    result[i] = convert_lane(bits, key);
  }
  if ((op.m[4] & 2U) != 0) {
    Target<u64> target(lanes, op, mask);
    for (int i = 0; i < kWarpSize; ++i) target.out[i] = result[i];
    target.finish();
  } else {
    // A register of 16 or 32 bits: m[5] is its width in bytes.
    const u64 kept = op.m[5] == 2 ? 0xffffU : 0xffffffffU;
    Target<u32> target(lanes, op, mask);
    for (int i = 0; i < kWarpSize; ++i) target.out[i] = static_cast<u32>(result[i] & kept);
    target.finish();
  }
}

// d, a, b: a to the upper half, b to the lower, from f32.
void run_pair(LaneFile& lanes, const Op& op, u32 mask) {
  const General key = general(op);
  Target<u32> target(lanes, op, mask);
  const auto* a = source<float>(lanes, op.r[1]);
  const auto* b = source<float>(lanes, op.r[2]);
  for (int i = 0; i < kWarpSize; ++i) {
    const u64 high = convert_lane(a[i], key);
    const u64 low = convert_lane(b[i], key);
    target.out[i] = static_cast<u32>(high << 16 | low);
  }
  target.finish();
}

// f32 to an integer of 32 bits. The clamps keep the conversion itself in range.
template <class T>
FA_INLINE T clamp_to(double rounded) {
  constexpr double low = static_cast<T>(-1) < 0 ? -2147483648.0 : 0.0;
  constexpr double high = static_cast<T>(-1) < 0 ? 2147483647.0 : 4294967295.0;
  double value = rounded > low ? rounded : low;
  value = value < high ? value : high;
  const T result = static_cast<T>(static_cast<s64>(value));
  return rounded == rounded ? result : T{0};
}

Handler common_real(const LaneKey& key) {
  if (key.sat || key.relu || key.ftz || key.integral || key.finite) return nullptr;
  if (key.round != Round::nearest) return nullptr;
  if (key.type == Type::f32) {
    switch (key.from) {
      case Type::f16:
        return one<float, u32>([](u32 a) { return half_to(a & 0xffffU); });
      case Type::bf16:
        return one<float, u32>([](u32 a) { return bfloat_to(a); });
      case Type::s32:
        return one<float, s32>([](s32 a) { return static_cast<float>(a); });
      case Type::u32:
        return one<float, u32>([](u32 a) { return static_cast<float>(a); });
      case Type::f64:
        return one<float, double>([](double a) { return canonical(static_cast<float>(a)); });
      default:
        return nullptr;
    }
  }
  if (key.from == Type::f32 && key.type == Type::f16) {
    return one<u32, float>([](float a) { return half_from(a); });
  }
  if (key.from == Type::f32 && key.type == Type::bf16) {
    return one<u32, float>([](float a) { return bfloat_from(a); });
  }
  if (key.from == Type::f32 && key.type == Type::f64) {
    return one<double, float>([](float a) { return canonical(static_cast<double>(a)); });
  }
  return nullptr;
}

Handler common_pair(const LaneKey& key) {
  if (key.sat || key.relu || key.ftz || key.finite) return nullptr;
  if (key.round != Round::nearest || key.from != Type::f32) return nullptr;
  if (key.type == Type::f16x2) {
    return two<u32, float, float>(
        [](float a, float b) { return half_from(a) << 16 | half_from(b); });
  }
  return two<u32, float, float>(
      [](float a, float b) { return bfloat_from(a) << 16 | bfloat_from(b); });
}

// Integers to registers of 32 and of 64 bits, from every type.
template <class D>
Handler widen(Type from) {
  switch (from) {
    case Type::u8:
      return one<D, u32>([](u32 a) { return static_cast<D>(static_cast<u8>(a)); });
    case Type::s8:
      return one<D, u32>([](u32 a) { return static_cast<D>(static_cast<s8>(a)); });
    case Type::u16:
      return one<D, u32>([](u32 a) { return static_cast<D>(static_cast<u16>(a)); });
    case Type::s16:
      return one<D, u32>([](u32 a) { return static_cast<D>(static_cast<s16>(a)); });
    case Type::u32:
      return one<D, u32>([](u32 a) { return static_cast<D>(a); });
    case Type::s32:
      return one<D, s32>([](s32 a) { return static_cast<D>(a); });
    default:
      return nullptr;
  }
}

}  // namespace

Handler convert_handler(const LaneKey& key) {
  if (key.op == LaneOp::convert_pair) {
    const Handler handler = common_pair(key);
    return handler != nullptr ? handler : run_pair;
  }
  if (key.op != LaneOp::convert) return nullptr;
  const bool integers = !is_float(key.type) && !is_float(key.from) && key.type != Type::tf32;
  if (integers && !key.sat) {
    if (size_of(key.type) == 8 && size_of(key.from) < 8 && !key.wide) {
      return widen<u64>(key.from);
    }
    if (size_of(key.type) == 4 && !key.wide && size_of(key.from) < 8) return widen<u32>(key.from);
    if (size_of(key.type) == 4 && !key.wide) {
      return one<u32, u64>([](u64 a) { return static_cast<u32>(a); });
    }
    const bool fits = size_of(key.type) == 2 && !key.wide && !key.option;
    if (fits && size_of(key.from) == 8) {
      return one<u16, u64>([](u64 a) { return static_cast<u16>(a); });
    }
    return fits ? widen<u16>(key.from) : run_general;
  }
  if (key.from == Type::f32 && !key.ftz && !key.wide && key.integral) {
    if (key.type == Type::s32 && key.round == Round::zero) {
      return one<s32, float>(
          [](float a) { return clamp_to<s32>(__builtin_trunc(static_cast<double>(a))); });
    }
    if (key.type == Type::s32 && key.round == Round::nearest) {
      return one<s32, float>(
          [](float a) { return clamp_to<s32>(__builtin_rint(static_cast<double>(a))); });
    }
  }
  if (const Handler handler = key.wide ? nullptr : common_real(key)) {
    return handler;
  }
  return run_general;
}

}  // namespace fa_tune::emulator::FA_LANES
