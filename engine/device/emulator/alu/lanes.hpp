#pragma once

#include "engine/device/emulator/ir/program.hpp"
#include "engine/device/emulator/ir/types.hpp"

namespace fa_tune::emulator {

// Instructions that compute each lane from that lane's registers alone. A handler is chosen once,
// when the program is loaded, from this key.
enum class LaneOp : std::uint8_t {
  // Integers. Operands: d, a, b, c.
  add,
  sub,
  mul_lo,
  mul_hi,
  mul_wide,
  mad_lo,
  mad_hi,
  mad_wide,
  mul24,
  mad24,
  div,
  rem,
  abs,
  neg,
  min,
  max,
  sad,
  bit_and,
  bit_or,
  bit_xor,
  bit_not,
  cnot,
  shl,
  shr,
  shf_left,
  shf_right,
  lop3,
  prmt,
  bfe,
  bfi,
  bfind,
  brev,
  clz,
  popc,
  dp4a,
  dp2a,  // option: the upper two bytes of b
  fns,
  bmsk,       // option: clamp
  szext,      // option: clamp
  prmt_mode,  // m[0]: which of f4e, b4e, rc8, ecl, ecr, rc16
  lop3_test,  // d, a, b, c, predicate p, predicate q; m: see Combine
  video,      // d, a, b, c; see lanes_video.cpp
  // Sums and products with carry: d, a, b, c or none, predicate carry in or none, carry out or
  // none.
  add_carry,
  sub_carry,
  mad_lo_carry,
  mad_hi_carry,

  // Reals; add, sub, div, abs, neg, min, max are those above with a real type.
  mul,
  fma,
  sqrt,
  rcp,
  rsqrt,
  ex2,
  lg2,
  sin,
  cos,
  tanh,
  copysign,
  // Any.
  mov,
  pack,
  unpack,
  pack_bytes,        // d, a, b, c or none, e or none
  unpack_byte,       // d, a; m[0]: its lowest bit
  select,            // d, a, b, predicate
  slct,              // d, a, b, c
  setp,              // predicate p, predicate q or none, a, b, predicate c or none; m: see Combine
  set,               // d, a, b, predicate c or none
  testp,             // predicate p, a
  convert,           // d, a
  convert_pair,      // d, a (upper), b (lower)
  convert_fp8,       // d, a: a pair of 8-bit reals to or from a pair of f16
  convert_fp8_pair,  // d, a (upper), b (lower), from f32
  convert_pack,      // d, a (upper), b (lower), c or none
  // Predicates: d, a, b; m[0], m[1]: a, b negated.
  predicate_and,
  predicate_or,
  predicate_xor,
  predicate_mov,
  unknown,
};

enum class Round : std::uint8_t { nearest, zero, down, up };

// The unordered ones hold when an operand is a NaN. lo, ls, hi, hs are lt, le, gt, ge of unsigned.
enum class Compare : std::uint8_t {
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  equ,
  neu,
  ltu,
  leu,
  gtu,
  geu,
  num,
  nan
};

// m[0] of the SIMD video instructions.
enum class Video : std::uint8_t { add, sub, average, difference, min, max, set };

// m[0] of setp and set: how the comparison meets predicate c; m[1]: c is negated.
enum class Combine : std::uint8_t { none, with_and, with_or, with_xor };

struct LaneKey {
  LaneOp op = LaneOp::mov;
  Type type = Type::none;
  Type from = Type::none;  // source of convert and set
  Round round = Round::nearest;
  Compare compare = Compare::eq;
  bool ftz = false;
  bool sat = false;
  bool relu = false;
  bool nan = false;       // min.NaN
  bool xorsign = false;   // min.xorsign.abs
  bool approx = false;    // .approx: the hardware's own way, not the correctly rounded one
  bool full = false;      // div.full, which is approximate too
  bool finite = false;    // convert.satfinite
  bool high = false;      // mul24.hi, mad24.hi
  bool integral = false;  // convert: round to a whole number (rni, rzi, rmi, rpi)
  // shf.clamp, bfind.shiftamt; pack and unpack of four; convert: the type is narrower than a target
  // register of 32 bits.
  bool option = false;
  bool wide = false;  // convert: a register has 64 bits where its type has fewer
};

// Null if there is no such instruction. With AVX2 where the processor has it; the results are the
// same, bit for bit, with and without (FA_TUNE_NO_AVX2=1 in the environment turns it off).
Handler lanes_handler(const LaneKey& key);
// For tests: one variant by name.
Handler lanes_handler(const LaneKey& key, bool avx2);

namespace plain {
Handler integer_handler(const LaneKey& key);
Handler bits_handler(const LaneKey& key);
Handler real_handler(const LaneKey& key);
Handler half_handler(const LaneKey& key);
Handler compare_handler(const LaneKey& key);
Handler convert_handler(const LaneKey& key);
Handler carry_handler(const LaneKey& key);
Handler double_handler(const LaneKey& key);
Handler video_handler(const LaneKey& key);
Handler masks_handler(const LaneKey& key);
Handler fp8_handler(const LaneKey& key);
}  // namespace plain
namespace avx2 {
Handler integer_handler(const LaneKey& key);
Handler bits_handler(const LaneKey& key);
Handler real_handler(const LaneKey& key);
Handler half_handler(const LaneKey& key);
Handler compare_handler(const LaneKey& key);
Handler convert_handler(const LaneKey& key);
Handler carry_handler(const LaneKey& key);
Handler double_handler(const LaneKey& key);
Handler video_handler(const LaneKey& key);
Handler masks_handler(const LaneKey& key);
Handler fp8_handler(const LaneKey& key);
}  // namespace avx2

}  // namespace fa_tune::emulator
