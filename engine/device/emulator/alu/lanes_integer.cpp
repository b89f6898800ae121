#include "engine/device/emulator/alu/lanes_map.hpp"

// Integer arithmetic. Sums and products wrap, so they are done in unsigned types.

namespace fa_tune::emulator::FA_LANES {
namespace {

__extension__ using u128 = unsigned __int128;
__extension__ using s128 = __int128;

template <class T>
struct Wider;
template <>
struct Wider<u16> {
  using Type = u32;
};
template <>
struct Wider<s16> {
  using Type = s32;
};
template <>
struct Wider<u32> {
  using Type = u64;
};
template <>
struct Wider<s32> {
  using Type = s64;
};
template <>
struct Wider<u64> {
  using Type = u128;
};
template <>
struct Wider<s64> {
  using Type = s128;
};

template <class T>
[[gnu::always_inline]] inline T high_product(T a, T b) {
  using W = typename Wider<T>::Type;
  return static_cast<T>((static_cast<W>(a) * static_cast<W>(b)) >> (8 * sizeof(T)));
}

// A 16-bit product in int could overflow where int's is signed; through u32 it wraps.
template <class T>
[[gnu::always_inline]] inline T low_product(T a, T b) {
  if constexpr (sizeof(T) == 8) {
    return static_cast<T>(static_cast<u64>(a) * static_cast<u64>(b));
  } else {
    return static_cast<T>(static_cast<u32>(a) * static_cast<u32>(b));
  }
}

// Division by zero gives all ones, as GPUs do; the most negative number by -1 gives itself.
template <class T>
[[gnu::always_inline]] inline T quotient(T a, T b) {
  if (b == 0) return static_cast<T>(~T{0});
  if constexpr (static_cast<T>(-1) < 0) {
    if (b == static_cast<T>(-1)) return static_cast<T>(u64{0} - static_cast<u64>(a));
  }
  return static_cast<T>(a / b);
}
template <class T>
[[gnu::always_inline]] inline T remainder(T a, T b) {
  if (b == 0) return a;
  if constexpr (static_cast<T>(-1) < 0) {
    if (b == static_cast<T>(-1)) return 0;
  }
  return static_cast<T>(a % b);
}

// T: the type with its sign; U: unsigned of the same size.
template <class T, class U>
Handler of_any_size(LaneOp op) {
  switch (op) {
    case LaneOp::add:
      return two<U, U, U>([](U a, U b) { return static_cast<U>(a + b); });
    case LaneOp::sub:
      return two<U, U, U>([](U a, U b) { return static_cast<U>(a - b); });
    case LaneOp::mul_lo:
      return two<U, U, U>([](U a, U b) { return low_product(a, b); });
    case LaneOp::mul_hi:
      return two<T, T, T>([](T a, T b) { return high_product(a, b); });
    case LaneOp::mad_lo:
      return three<U, U, U, U>([](U a, U b, U c) { return static_cast<U>(low_product(a, b) + c); });
    case LaneOp::mad_hi:
      return three<U, T, T, U>(
          [](T a, T b, U c) { return static_cast<U>(static_cast<U>(high_product(a, b)) + c); });
    case LaneOp::div:
      return two<T, T, T>([](T a, T b) { return quotient(a, b); });
    case LaneOp::rem:
      return two<T, T, T>([](T a, T b) { return remainder(a, b); });
    case LaneOp::neg:
      return one<U, U>([](U a) { return static_cast<U>(U{0} - a); });
    case LaneOp::abs:
      return one<U, T>([](T a) {
        const U magnitude = static_cast<U>(a);
        return a < 0 ? static_cast<U>(U{0} - magnitude) : magnitude;
      });
    case LaneOp::min:
      return two<T, T, T>([](T a, T b) { return a < b ? a : b; });
    case LaneOp::max:
      return two<T, T, T>([](T a, T b) { return a > b ? a : b; });
    case LaneOp::sad:
      return three<U, T, T, U>([](T a, T b, U c) {
        const U difference = a > b ? static_cast<U>(static_cast<U>(a) - static_cast<U>(b))
                                   : static_cast<U>(static_cast<U>(b) - static_cast<U>(a));
        return static_cast<U>(c + difference);
      });
    default:
      return nullptr;
  }
}

// Products of full width, of 16 and 32 bits.
template <class T, class U>
Handler of_half_size(LaneOp op) {
  using W = typename Wider<T>::Type;
  using V = typename Wider<U>::Type;
  switch (op) {
    case LaneOp::mul_wide:
      return two<W, T, T>(
          [](T a, T b) { return static_cast<W>(static_cast<W>(a) * static_cast<W>(b)); });
    case LaneOp::mad_wide:
      return three<V, T, T, V>([](T a, T b, V c) {
        return static_cast<V>(static_cast<V>(static_cast<W>(a) * static_cast<W>(b)) + c);
      });
    default:
      return of_any_size<T, U>(op);
  }
}

[[gnu::always_inline]] inline u32 product24(u32 a, u32 b) {
  return (a & 0xffffffU) * (b & 0xffffffU);
}
[[gnu::always_inline]] inline u32 signed_product24(u32 a, u32 b) {
  const s32 x = static_cast<s32>(a << 8) >> 8;
  const s32 y = static_cast<s32>(b << 8) >> 8;
  return static_cast<u32>(x) * static_cast<u32>(y);
}

[[gnu::always_inline]] inline u32 high_product24(u32 a, u32 b) {
  return static_cast<u32>((static_cast<u64>(a & 0xffffffU) * (b & 0xffffffU)) >> 16);
}
[[gnu::always_inline]] inline s32 signed_high_product24(u32 a, u32 b) {
  const s64 x = static_cast<s32>(a << 8) >> 8;
  const s64 y = static_cast<s32>(b << 8) >> 8;
  return static_cast<s32>((x * y) >> 16);
}
[[gnu::always_inline]] inline s32 above_zero(s32 value) { return value > 0 ? value : 0; }

template <class A, class B>
[[gnu::always_inline]] inline u32 dot4(u32 a, u32 b, u32 c) {
  for (int i = 0; i < 32; i += 8) {
    c += static_cast<u32>(static_cast<s32>(static_cast<A>(a >> i)) *
                          static_cast<s32>(static_cast<B>(b >> i)));
  }
  return c;
}

template <class A, class B>
[[gnu::always_inline]] inline u32 dot2(u32 a, u32 b, u32 c) {
  for (int i = 0; i < 2; ++i) {
    // Each product fits 32 bits, signed or not; the sum wraps.
    c += static_cast<u32>(static_cast<s64>(static_cast<A>(a >> (16 * i))) *
                          static_cast<s64>(static_cast<B>(b >> (8 * i))));
  }
  return c;
}
template <class A, class B>
Handler two_products(bool upper) {
  if (upper) {
    return three<u32, u32, u32, u32>([](u32 a, u32 b, u32 c) { return dot2<A, B>(a, b >> 16, c); });
  }
  return three<u32, u32, u32, u32>([](u32 a, u32 b, u32 c) { return dot2<A, B>(a, b, c); });
}
Handler dp2a(const LaneKey& key) {
  if (key.type == Type::s32) {
    return key.from == Type::s32 ? two_products<s16, s8>(key.option)
                                 : two_products<s16, u8>(key.option);
  }
  return key.from == Type::s32 ? two_products<u16, s8>(key.option)
                               : two_products<u16, u8>(key.option);
}

[[gnu::always_inline]] inline u32 clamped(s64 value) {
  const s64 low = value < INT32_MIN ? s64{INT32_MIN} : value;
  return static_cast<u32>(static_cast<s32>(low > INT32_MAX ? s64{INT32_MAX} : low));
}

// .sat of s32: to the ends of its range.
Handler saturated(const LaneKey& key) {
  if (key.type != Type::s32) return nullptr;
  switch (key.op) {
    case LaneOp::add:
      return two<u32, s32, s32>([](s32 a, s32 b) { return clamped(s64{a} + b); });
    case LaneOp::sub:
      return two<u32, s32, s32>([](s32 a, s32 b) { return clamped(s64{a} - b); });
    case LaneOp::mad_hi:
      return three<u32, s32, s32, s32>(
          [](s32 a, s32 b, s32 c) { return clamped(s64{high_product(a, b)} + c); });
    case LaneOp::mad24:
      if (!key.high) return nullptr;
      return three<u32, u32, u32, s32>(
          [](u32 a, u32 b, s32 c) { return clamped(s64{signed_high_product24(a, b)} + c); });
    default:
      return nullptr;
  }
}

// Bits 16 to 47 of a product of 24 by 24 bits.
Handler high24(const LaneKey& key) {
  const bool product = key.op == LaneOp::mul24;
  if (key.type == Type::s32) {
    return product ? two<u32, u32, u32>(
                         [](u32 a, u32 b) { return static_cast<u32>(signed_high_product24(a, b)); })
                   : three<u32, u32, u32, u32>([](u32 a, u32 b, u32 c) {
                       return static_cast<u32>(signed_high_product24(a, b)) + c;
                     });
  }
  return product ? two<u32, u32, u32>([](u32 a, u32 b) { return high_product24(a, b); })
                 : three<u32, u32, u32, u32>(
                       [](u32 a, u32 b, u32 c) { return high_product24(a, b) + c; });
}

Handler of_32_bits(const LaneKey& key) {
  const bool is_signed = key.type == Type::s32;
  if (key.high) return high24(key);
  if (key.relu) {
    if (!is_signed) return nullptr;
    if (key.op == LaneOp::min) {
      return two<s32, s32, s32>([](s32 a, s32 b) { return above_zero(a < b ? a : b); });
    }
    return two<s32, s32, s32>([](s32 a, s32 b) { return above_zero(a > b ? a : b); });
  }
  switch (key.op) {
    case LaneOp::dp2a:
      return dp2a(key);
    case LaneOp::mul24:
      if (is_signed) return two<u32, u32, u32>([](u32 a, u32 b) { return signed_product24(a, b); });
      return two<u32, u32, u32>([](u32 a, u32 b) { return product24(a, b); });
    case LaneOp::mad24:
      if (is_signed) {
        return three<u32, u32, u32, u32>(
            [](u32 a, u32 b, u32 c) { return signed_product24(a, b) + c; });
      }
      return three<u32, u32, u32, u32>([](u32 a, u32 b, u32 c) { return product24(a, b) + c; });
    case LaneOp::dp4a:
      if (is_signed) {
        return key.from == Type::s32 ? three<u32, u32, u32, u32>([](u32 a, u32 b, u32 c) {
          return dot4<std::int8_t, std::int8_t>(a, b, c);
        })
                                     : three<u32, u32, u32, u32>([](u32 a, u32 b, u32 c) {
                                         return dot4<std::int8_t, std::uint8_t>(a, b, c);
                                       });
      }
      return key.from == Type::s32 ? three<u32, u32, u32, u32>([](u32 a, u32 b, u32 c) {
        return dot4<std::uint8_t, std::int8_t>(a, b, c);
      })
                                   : three<u32, u32, u32, u32>([](u32 a, u32 b, u32 c) {
                                       return dot4<std::uint8_t, std::uint8_t>(a, b, c);
                                     });
    default:
      return nullptr;
  }
}

// Two numbers of 16 bits in a word.
template <class T, class F>
Handler each_half(F) {
  return two<u32, u32, u32>([](u32 a, u32 b) {
    const u32 low = static_cast<u16>(F{}(static_cast<T>(a), static_cast<T>(b)));
    const u32 high = static_cast<u16>(F{}(static_cast<T>(a >> 16), static_cast<T>(b >> 16)));
    return low | high << 16;
  });
}
template <class T>
Handler of_pairs(const LaneKey& key) {
  switch (key.op) {
    case LaneOp::add:
      return each_half<T>([](T a, T b) { return a + b; });
    case LaneOp::min:
      if (key.relu) return each_half<T>([](T a, T b) { return above_zero(a < b ? a : b); });
      return each_half<T>([](T a, T b) { return a < b ? a : b; });
    case LaneOp::max:
      if (key.relu) return each_half<T>([](T a, T b) { return above_zero(a > b ? a : b); });
      return each_half<T>([](T a, T b) { return a > b ? a : b; });
    default:
      return nullptr;
  }
}

}  // namespace

Handler integer_handler(const LaneKey& key) {
  if (key.sat) return saturated(key);
  switch (key.type) {
    case Type::u16x2:
      return key.relu ? nullptr : of_pairs<u16>(key);
    case Type::s16x2:
      return of_pairs<s16>(key);
    case Type::u16:
      return of_half_size<u16, u16>(key.op);
    case Type::s16:
      return of_half_size<s16, u16>(key.op);
    case Type::u32:
    case Type::s32:
      if (const Handler handler = of_32_bits(key)) return handler;
      return key.type == Type::u32 ? of_half_size<u32, u32>(key.op)
                                   : of_half_size<s32, u32>(key.op);
    case Type::u64:
      return of_any_size<u64, u64>(key.op);
    case Type::s64:
      return of_any_size<s64, u64>(key.op);
    default:
      return nullptr;
  }
}

}  // namespace fa_tune::emulator::FA_LANES
