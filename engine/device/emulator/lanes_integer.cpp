#include "engine/device/emulator/lanes_map.hpp"

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

template <class A, class B>
[[gnu::always_inline]] inline u32 dot4(u32 a, u32 b, u32 c) {
  for (int i = 0; i < 32; i += 8) {
    c += static_cast<u32>(static_cast<s32>(static_cast<A>(a >> i)) *
                          static_cast<s32>(static_cast<B>(b >> i)));
  }
  return c;
}

Handler of_32_bits(const LaneKey& key) {
  const bool is_signed = key.type == Type::s32;
  switch (key.op) {
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

}  // namespace

Handler integer_handler(const LaneKey& key) {
  switch (key.type) {
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
