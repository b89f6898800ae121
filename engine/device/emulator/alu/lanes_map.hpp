#pragma once

#include <cstdint>

#include "engine/device/emulator/alu/lanes.hpp"

// The lanes_*.cpp files are compiled twice, for any processor and for AVX2. Everything they share
// is forced inline and lies in a namespace of the variant: a function compiled for AVX2 must never
// be the one that the linker keeps for all. For that reason they use compiler builtins, not
// <cmath>.
#ifndef FA_LANES
#error "FA_LANES names the variant: plain or avx2"
#endif

// Before a loop whose rounds do not depend on each other, though pointers may look so: a register
// may be both source and target, lane by lane; otherwise the registers of an instruction never
// overlap (see register_allocation.cpp).
#ifdef __clang__
#define FA_VECTOR_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define FA_VECTOR_LOOP _Pragma("GCC ivdep")
#endif

namespace fa_tune::emulator::FA_LANES {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s8 = std::int8_t;
using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;

// A format of 16 bits, kept apart from the integers.
struct Half {
  std::uint16_t bits;
};
struct Bfloat {
  std::uint16_t bits;
};

// How a T sits in a register: in a word of 32 bits, zero-extended, or in one of 64.
template <class T>
inline constexpr bool kIsWide = sizeof(T) == 8;

template <class T>
struct Cell {
  using Word = std::uint32_t;
  [[gnu::always_inline]] static T get(Word word) {
    if constexpr (sizeof(T) == 4) {
      return __builtin_bit_cast(T, word);
    } else if constexpr (sizeof(T) == 2) {
      return __builtin_bit_cast(T, static_cast<std::uint16_t>(word));
    } else {
      return __builtin_bit_cast(T, static_cast<std::uint8_t>(word));
    }
  }
  [[gnu::always_inline]] static Word put(T value) {
    if constexpr (sizeof(T) == 4) {
      return __builtin_bit_cast(std::uint32_t, value);
    } else if constexpr (sizeof(T) == 2) {
      return __builtin_bit_cast(std::uint16_t, value);
    } else {
      return __builtin_bit_cast(std::uint8_t, value);
    }
  }
};
template <class T>
requires kIsWide<T>
struct Cell<T> {
  using Word = Word64;
  [[gnu::always_inline]] static T get(Word word) {
    return __builtin_bit_cast(T, static_cast<std::uint64_t>(word));
  }
  [[gnu::always_inline]] static Word put(T value) {
    return __builtin_bit_cast(std::uint64_t, value);
  }
};

template <class T>
[[gnu::always_inline]] inline const typename Cell<T>::Word* source(const LaneFile& lanes,
                                                                   std::uint16_t index) {
  return reinterpret_cast<const typename Cell<T>::Word*>(slot(lanes, index));
}

// Where results go: straight to the register for a full mask, else to a buffer of which finish()
// takes the lanes of the mask. One loop serves both.
template <class T>
struct Target {
  using Word = typename Cell<T>::Word;
  [[gnu::always_inline]] Target(LaneFile& lanes, const Op& op, std::uint32_t mask)
      : slot_(reinterpret_cast<Word*>(target_slot(lanes, op.r[0]))), mask_(mask) {
    out = mask == kFullMask ? slot_ : buffer_;
  }
  [[gnu::always_inline]] void finish() {
    if (mask_ == kFullMask) return;
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
      slot_[lane] = (mask_ >> lane & 1U) != 0 ? buffer_[lane] : slot_[lane];
    }
  }
  Word* out;

 private:
  Word* slot_;
  std::uint32_t mask_;
  alignas(64) Word buffer_[kWarpSize];
};

// Handlers from a function of one, two or three values.
template <class D, class A, class F>
Handler one(F) {
  return [](LaneFile& lanes, const Op& op, std::uint32_t mask) {
    Target<D> target(lanes, op, mask);
    const auto* a = source<A>(lanes, op.r[1]);
    auto* out = target.out;
    FA_VECTOR_LOOP
    for (int i = 0; i < kWarpSize; ++i) out[i] = Cell<D>::put(F{}(Cell<A>::get(a[i])));
    target.finish();
  };
}

template <class D, class A, class B, class F>
Handler two(F) {
  return [](LaneFile& lanes, const Op& op, std::uint32_t mask) {
    Target<D> target(lanes, op, mask);
    const auto* a = source<A>(lanes, op.r[1]);
    const auto* b = source<B>(lanes, op.r[2]);
    auto* out = target.out;
    FA_VECTOR_LOOP
    for (int i = 0; i < kWarpSize; ++i) {
      out[i] = Cell<D>::put(F{}(Cell<A>::get(a[i]), Cell<B>::get(b[i])));
    }
    target.finish();
  };
}

template <class D, class A, class B, class C, class F>
Handler three(F) {
  return [](LaneFile& lanes, const Op& op, std::uint32_t mask) {
    Target<D> target(lanes, op, mask);
    const auto* a = source<A>(lanes, op.r[1]);
    const auto* b = source<B>(lanes, op.r[2]);
    const auto* c = source<C>(lanes, op.r[3]);
    auto* out = target.out;
    FA_VECTOR_LOOP
    for (int i = 0; i < kWarpSize; ++i) {
      out[i] = Cell<D>::put(F{}(Cell<A>::get(a[i]), Cell<B>::get(b[i]), Cell<C>::get(c[i])));
    }
    target.finish();
  };
}

}  // namespace fa_tune::emulator::FA_LANES
