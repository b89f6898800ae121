#include <type_traits>

#include "engine/device/emulator/alu/lanes_real.hpp"

// Comparisons, selections and predicates. A predicate is a word with a bit a lane.

namespace fa_tune::emulator::FA_LANES {
namespace {

[[gnu::always_inline]] inline u32 predicate(const LaneFile& lanes, u16 index, bool negated) {
  const u32 value = lanes.predicates[index];
  return negated ? ~value : value;
}
[[gnu::always_inline]] inline void set_predicate(LaneFile& lanes, u16 index, u32 value, u32 mask) {
  if (index == kNoOperand) return;
  u32& word = lanes.predicates[index];
  word = (word & ~mask) | (value & mask);
}

u32 combined(const LaneFile& lanes, const Op& op, u16 other, u32 bits) {
  switch (static_cast<Combine>(op.m[0])) {
    case Combine::with_and:
      return bits & predicate(lanes, other, op.m[1] != 0);
    case Combine::with_or:
      return bits | predicate(lanes, other, op.m[1] != 0);
    case Combine::with_xor:
      return bits ^ predicate(lanes, other, op.m[1] != 0);
    case Combine::none:
      break;
  }
  return bits;
}

template <class T, class F>
[[gnu::always_inline]] inline u32 compare_all(const LaneFile& lanes, u16 first, u16 second) {
  const auto* a = source<T>(lanes, first);
  const auto* b = source<T>(lanes, second);
  u32 bits = 0;
  for (u32 i = 0; i < kWarpSize; ++i) {
    bits |= static_cast<u32>(F{}(Cell<T>::get(a[i]), Cell<T>::get(b[i]))) << i;
  }
  return bits;
}

template <class T, class F>
void run_setp(LaneFile& lanes, const Op& op, u32 mask) {
  const u32 bits = compare_all<T, F>(lanes, op.r[2], op.r[3]);
  set_predicate(lanes, op.r[1], combined(lanes, op, op.r[4], ~bits), mask);
  set_predicate(lanes, op.r[0], combined(lanes, op, op.r[4], bits), mask);
}

// set: the true value is in the immediate, the false one is 0.
template <class T, class F>
void run_set(LaneFile& lanes, const Op& op, u32 mask) {
  const u32 bits = combined(lanes, op, op.r[3], compare_all<T, F>(lanes, op.r[1], op.r[2]));
  Target<u32> target(lanes, op, mask);
  const u32 yes = static_cast<u32>(op.immediate);
  for (u32 i = 0; i < kWarpSize; ++i) target.out[i] = (bits >> i & 1U) != 0 ? yes : 0U;
  target.finish();
}

// For a pair of f16 or bf16: `set` gives a pair of 1.0 or of masks, setp gives p and q.
template <class T, class F>
void run_set_pair(LaneFile& lanes, const Op& op, u32 mask) {
  Target<u32> target(lanes, op, mask);
  const auto* a = source<u32>(lanes, op.r[1]);
  const auto* b = source<u32>(lanes, op.r[2]);
  const u32 yes = static_cast<u32>(op.immediate) & 0xffffU;
  for (int i = 0; i < kWarpSize; ++i) {
    const bool low = F{}(Cell<T>::get(a[i] & 0xffffU), Cell<T>::get(b[i] & 0xffffU));
    const bool high = F{}(Cell<T>::get(a[i] >> 16), Cell<T>::get(b[i] >> 16));
    target.out[i] = (low ? yes : 0U) | (high ? yes << 16 : 0U);
  }
  target.finish();
}
template <class T, class F>
void run_setp_pair(LaneFile& lanes, const Op& op, u32 mask) {
  const auto* a = source<u32>(lanes, op.r[2]);
  const auto* b = source<u32>(lanes, op.r[3]);
  u32 low = 0;
  u32 high = 0;
  for (u32 i = 0; i < kWarpSize; ++i) {
    low |= static_cast<u32>(F{}(Cell<T>::get(a[i] & 0xffffU), Cell<T>::get(b[i] & 0xffffU))) << i;
    high |= static_cast<u32>(F{}(Cell<T>::get(a[i] >> 16), Cell<T>::get(b[i] >> 16))) << i;
  }
  set_predicate(lanes, op.r[1], combined(lanes, op, op.r[4], high), mask);
  set_predicate(lanes, op.r[0], combined(lanes, op, op.r[4], low), mask);
}

enum class Form { setp, set, setp_pair, set_pair };

template <class T, class F>
Handler form_of(Form form, F) {
  if constexpr (std::is_class_v<T>) {
    if (form == Form::setp_pair) return run_setp_pair<T, F>;
    if (form == Form::set_pair) return run_set_pair<T, F>;
  }
  if (form == Form::setp) return run_setp<T, F>;
  return form == Form::set ? run_set<T, F> : nullptr;
}

FA_INLINE float value_of(Half a) { return half_to(a.bits); }
FA_INLINE float value_of(Bfloat a) { return bfloat_to(a.bits); }
template <class T>
FA_INLINE T value_of(T a) {
  return a;
}
template <bool Ftz, class T>
FA_INLINE auto compared(T a) {
  if constexpr (Ftz && sizeof(T) == 4) {
    return flush(value_of(a));
  } else if constexpr (Ftz && std::is_same_v<T, Half>) {
    return half_to((a.bits & 0x7c00U) == 0 ? a.bits & 0x8000U : a.bits);
  } else {
    return value_of(a);
  }
}

template <class T>
Handler ordered(Form form, Compare compare) {
  switch (compare) {
    case Compare::eq:
      return form_of<T>(form, [](T a, T b) { return a == b; });
    case Compare::ne:
      return form_of<T>(form, [](T a, T b) { return a != b; });
    case Compare::lt:
      return form_of<T>(form, [](T a, T b) { return a < b; });
    case Compare::le:
      return form_of<T>(form, [](T a, T b) { return a <= b; });
    case Compare::gt:
      return form_of<T>(form, [](T a, T b) { return a > b; });
    case Compare::ge:
      return form_of<T>(form, [](T a, T b) { return a >= b; });
    default:
      return nullptr;
  }
}

template <class T, bool Ftz>
Handler real(Form form, Compare compare) {
#define FA_COMPARED(expression)            \
  form_of<T>(form, [](T first, T second) { \
    const auto a = compared<Ftz>(first);   \
    const auto b = compared<Ftz>(second);  \
    return expression;                     \
  })
  switch (compare) {
    case Compare::eq:
      return FA_COMPARED(a == b);
    case Compare::ne:
      return FA_COMPARED((a < b) || (a > b));
    case Compare::lt:
      return FA_COMPARED(a < b);
    case Compare::le:
      return FA_COMPARED(a <= b);
    case Compare::gt:
      return FA_COMPARED(a > b);
    case Compare::ge:
      return FA_COMPARED(a >= b);
    case Compare::equ:
      return FA_COMPARED(!((a < b) || (a > b)));
    case Compare::neu:
      return FA_COMPARED(!(a == b));
    case Compare::ltu:
      return FA_COMPARED(!(a >= b));
    case Compare::leu:
      return FA_COMPARED(!(a > b));
    case Compare::gtu:
      return FA_COMPARED(!(a <= b));
    case Compare::geu:
      return FA_COMPARED(!(a < b));
    case Compare::num:
      return FA_COMPARED((a == a) && (b == b));
    case Compare::nan:
      return FA_COMPARED((a != a) || (b != b));
  }
#undef FA_COMPARED
  return nullptr;
}

Handler comparison(Form form, Type type, const LaneKey& key) {
  switch (type) {
    case Type::b16:
    case Type::u16:
      return ordered<u16>(form, key.compare);
    case Type::s16:
      return ordered<s16>(form, key.compare);
    case Type::b32:
    case Type::u32:
      return ordered<u32>(form, key.compare);
    case Type::s32:
      return ordered<s32>(form, key.compare);
    case Type::b64:
    case Type::u64:
      return ordered<u64>(form, key.compare);
    case Type::s64:
      return ordered<s64>(form, key.compare);
    case Type::f16:
    case Type::f16x2:
      return key.ftz ? real<Half, true>(form, key.compare) : real<Half, false>(form, key.compare);
    case Type::bf16:
    case Type::bf16x2:
      return real<Bfloat, false>(form, key.compare);
    case Type::f32:
      return key.ftz ? real<float, true>(form, key.compare) : real<float, false>(form, key.compare);
    case Type::f64:
      return real<double, false>(form, key.compare);
    default:
      return nullptr;
  }
}

template <class U>
void run_select(LaneFile& lanes, const Op& op, u32 mask) {
  Target<U> target(lanes, op, mask);
  const auto* a = source<U>(lanes, op.r[1]);
  const auto* b = source<U>(lanes, op.r[2]);
  const u32 chosen = predicate(lanes, op.r[3], op.m[0] != 0);
  auto* out = target.out;
  FA_VECTOR_LOOP
  for (u32 i = 0; i < kWarpSize; ++i) {
    const U yes = static_cast<U>(a[i]);
    const U no = static_cast<U>(b[i]);
    out[i] = (chosen >> i & 1U) != 0 ? yes : no;
  }
  target.finish();
}

template <class U>
Handler slct(Type by) {
  if (by == Type::s32) {
    return three<U, U, U, s32>([](U a, U b, s32 c) { return c >= 0 ? a : b; });
  }
  return three<U, U, U, float>([](U a, U b, float c) { return c >= 0.0F ? a : b; });
}
template <class U>
Handler slct_flushed() {
  return three<U, U, U, float>([](U a, U b, float c) { return flush(c) >= 0.0F ? a : b; });
}

// testp: m[0] says which property.
template <class U>
void run_testp(LaneFile& lanes, const Op& op, u32 mask) {
  constexpr U infinite = sizeof(U) == 8 ? static_cast<U>(0x7ff0000000000000U) : 0x7f800000U;
  constexpr U least_normal = sizeof(U) == 8 ? static_cast<U>(0x0010000000000000U) : 0x00800000U;
  const auto* a = source<U>(lanes, op.r[1]);
  u32 bits = 0;
  for (u32 i = 0; i < kWarpSize; ++i) {
    const U magnitude = static_cast<U>(a[i]) & static_cast<U>(static_cast<U>(~U{0}) >> 1);
    bool holds = false;
    switch (op.m[0]) {
      case 0:  // finite
        holds = magnitude < infinite;
        break;
      case 1:  // infinite
        holds = magnitude == infinite;
        break;
      case 2:  // number
        holds = magnitude <= infinite;
        break;
      case 3:  // notanumber
        holds = magnitude > infinite;
        break;
      case 4:  // normal; the ISA counts zero among these
        holds = (magnitude >= least_normal && magnitude < infinite) || magnitude == 0;
        break;
      default:  // subnormal
        holds = magnitude < least_normal && magnitude != 0;
        break;
    }
    bits |= static_cast<u32>(holds) << i;
  }
  set_predicate(lanes, op.r[0], bits, mask);
}

template <class F>
Handler predicates(F) {
  return [](LaneFile& lanes, const Op& op, u32 mask) {
    const u32 a = predicate(lanes, op.r[1], op.m[0] != 0);
    const u32 b = predicate(lanes, op.r[2], op.m[1] != 0);
    set_predicate(lanes, op.r[0], F{}(a, b), mask);
  };
}

}  // namespace

Handler compare_handler(const LaneKey& key) {
  const bool pair = key.from == Type::f16x2 || key.from == Type::bf16x2 ||
                    key.type == Type::f16x2 || key.type == Type::bf16x2;
  switch (key.op) {
    case LaneOp::setp:
      return comparison(pair ? Form::setp_pair : Form::setp, key.type, key);
    case LaneOp::set:
      return comparison(pair ? Form::set_pair : Form::set, key.from, key);
    case LaneOp::testp:
      return key.type == Type::f32   ? run_testp<u32>
             : key.type == Type::f64 ? run_testp<u64>
                                     : nullptr;
    case LaneOp::select:
      return size_of(key.type) == 8   ? run_select<u64>
             : size_of(key.type) == 4 ? run_select<u32>
             : size_of(key.type) == 2 ? run_select<u32>
                                      : nullptr;
    case LaneOp::slct:
      if (key.ftz) return size_of(key.type) == 8 ? slct_flushed<u64>() : slct_flushed<u32>();
      return size_of(key.type) == 8 ? slct<u64>(key.from) : slct<u32>(key.from);
    case LaneOp::predicate_and:
      return predicates([](u32 a, u32 b) { return a & b; });
    case LaneOp::predicate_or:
      return predicates([](u32 a, u32 b) { return a | b; });
    case LaneOp::predicate_xor:
      return predicates([](u32 a, u32 b) { return a ^ b; });
    case LaneOp::predicate_mov:
      return predicates([](u32 a, u32) { return a; });
    default:
      return nullptr;
  }
}

}  // namespace fa_tune::emulator::FA_LANES
