#pragma once

#include <cstdint>
#include <span>

#include "engine/device/emulator/tensor_core/tensor_core.hpp"

namespace fa_tune::emulator {

// The tensor core's arithmetic in plain integers, one output at a time: slow, and simple enough to
// be checked by eye. The fast path must equal it bit for bit and leaves it the rare cases.
//
// The rule (MMA-Sim, arXiv 2511.10909, "truncated fused dot-product-add"): c and every product are
// taken exactly; the exponent of a product is the sum of its factors' exponents and is not
// renormalized, so its significand may reach 4; a subnormal has the smallest normal exponent and a
// significand below 1; a term that is zero has no say in the exponent. All terms are aligned to the
// largest exponent (at least -133), truncated toward zero to F fraction bits, and added exactly. An
// f32 result is truncated toward zero, an f16 result rounded to nearest even; what is too large
// becomes infinity in both. NaN is 0x7FFFFFFF or 0x7FFF. No result is -0: not a sum of zeros, nor a
// negative sum that rounding makes zero. (The sign of zeros and -133 are not in the paper; measured
// on an H100 and an H200 and taken to hold for older devices.)
//
// sm_90 has no mma.sync for fp8: ptxas turns fp8 into f16, multiplies the lower halves of all
// registers and then the upper ones, from a sum of zero, and adds c at the end, rounding to
// nearest (read off the machine code of ptxas 13.0).
//
// s8 and u8: exact sums that wrap around, or clamp once at the end.

// How an instruction adds the products of floating-point elements.
struct DotRule {
  int fraction_bits = 24;    // F
  int at_once = 8;           // products added at once; the rest follow, c being what came before
  int result_fraction = 23;  // bits kept of an f32 result
};
DotRule dot_rule(const MmaKind& kind);
// Whether the instruction is two of f16, as sm_90's mma.sync with fp8.
bool is_two_of_f16(const MmaKind& kind);

// c + the sum of a[i] * b[i], all at once; a and b hold as many bits as the element has, and are of
// equal size (at most 32). Of `kind` only the elements and the rule count.
std::uint32_t dot_add_f32(const MmaKind& kind, std::span<const std::uint32_t> a,
                          std::span<const std::uint32_t> b, std::uint32_t c);
std::uint32_t dot_add_f16(const MmaKind& kind, std::span<const std::uint32_t> a,
                          std::span<const std::uint32_t> b, std::uint32_t c);
std::uint32_t dot_add_s32(const MmaKind& kind, std::span<const std::uint32_t> a,
                          std::span<const std::uint32_t> b, std::uint32_t c);

// The eight outputs of one row of D, from c's row, by the dot-adds above. `row` is 0 to 15.
// f16 outputs are in the lower half of each word. Not for instructions that are two of f16.
void mma_reference_row(const MmaKind& kind, const Fragments& fragments, int row,
                       std::span<std::uint32_t, 8> outputs);
// All of D.
void mma_reference(const MmaKind& kind, const Fragments& fragments);

using MmaFunction = void (*)(const MmaKind& kind, const Fragments& fragments);

// tensor_core_split.cpp: fp8 by the instructions that ptxas 13 makes of it on sm_90:
// F2FP.F16.E4M3.UNPACK_B of the lower and of the upper half of every register, HMMA of each (the
// first from zero), then FADD or HADD2 of c. `f16` does one f16 mma.
void mma_as_two_of_f16(const MmaKind& kind, const Fragments& fragments, MmaFunction f16);

}  // namespace fa_tune::emulator
