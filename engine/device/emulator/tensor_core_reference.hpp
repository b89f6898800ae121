#pragma once

#include <cstdint>
#include <span>

#include "engine/device/emulator/tensor_core.hpp"

namespace fa_tune::emulator {

// The tensor core's arithmetic in plain integers, one output at a time: slow, and simple enough to
// be checked by eye. The fast path must equal it bit for bit and leaves it the rare cases.
//
// The rule (MMA-Sim, arXiv 2511.10909, "truncated fused dot-product-add"): c and every product are
// taken exactly; the exponent of a product is the sum of its factors' exponents and is not
// renormalized, so its significand may reach 4; a subnormal has the smallest normal exponent and a
// significand below 1; a term that is zero has no say in the exponent. All terms are aligned to the
// largest exponent (at least -126), truncated toward zero to F fraction bits, and added exactly. An
// f32 result is truncated toward zero, an f16 result rounded to nearest even; what is too large
// becomes infinity in both. NaN is 0x7FFFFFFF or 0x7FFF. A sum of exactly zero is +0; the sign of a
// sum that is not zero stays when rounding makes it zero (the sign of zeros is not in the paper).

enum class Element { f16, bf16 };
enum class Accumulator { f32, f16 };

// One mma instruction of shape m16n8k8 or m16n8k16.
struct MmaKind {
  Element element = Element::f16;
  Accumulator accumulator = Accumulator::f32;
  int k = 16;
  TensorRule rule = TensorRule::ampere;
};

// The operands of one warp, as in tensor_core.hpp. d may alias any of the others.
struct Fragments {
  const Lanes* d;
  const ConstLanes* a;
  const ConstLanes* b;
  const ConstLanes* c;
};

// F: the fraction bits to which terms are truncated before they are added.
int fraction_bits(TensorRule rule);
// How many products of one output are added at once.
int products_at_once(const MmaKind& kind);

// c + sum of a[i] * b[i], all at once; a and b are bits of `element` and of equal size (at most
// 32).
std::uint32_t dot_add_f32(Element element, TensorRule rule, std::span<const std::uint16_t> a,
                          std::span<const std::uint16_t> b, std::uint32_t c);
std::uint16_t dot_add_f16(Element element, TensorRule rule, std::span<const std::uint16_t> a,
                          std::span<const std::uint16_t> b, std::uint16_t c);

// The eight outputs of one row of D, from c's row, by the dot-adds above. `row` is 0 to 15.
// f16 outputs are in the lower half of each word.
void mma_reference_row(const MmaKind& kind, const Fragments& fragments, int row,
                       std::span<std::uint32_t, 8> outputs);
// All of D.
void mma_reference(const MmaKind& kind, const Fragments& fragments);

}  // namespace fa_tune::emulator
