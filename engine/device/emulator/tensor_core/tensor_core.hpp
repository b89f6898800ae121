#pragma once

#include <cstdint>
#include <string_view>

namespace fa_tune::emulator {

// D = A * B + C of one warp, bit for bit as a tensor core does it. Source of the rules: MMA-Sim
// (arXiv 2511.10909) and, for what an instruction is made of, the machine code that ptxas 13 makes
// of it; tensor_core_reference.hpp states them.

// Which generation's arithmetic, and by which instruction it was reached.
enum class TensorRule : std::uint8_t {
  ampere,        // sm_80, sm_86: mma.sync and wmma
  ada,           // sm_89: the same and fp8
  hopper,        // sm_90: mma.sync and wmma
  hopper_wgmma,  // sm_90a: wgmma.mma_async; differs from `hopper` in fp8
  unknown,       // of an architecture that nobody has measured: sums of whole numbers alone
};

// Of a device with the architecture `arch` ("sm_89", "sm_90a").
TensorRule tensor_rule_of(std::string_view arch);

enum class Element : std::uint8_t { f16, bf16, tf32, e4m3, e5m2, s8, u8 };
enum class Accumulator : std::uint8_t { f32, f16, s32 };

// Bits of one element as it lies in a register.
constexpr int bits_of(Element element) {
  if (element == Element::tf32) return 32;
  return element == Element::f16 || element == Element::bf16 ? 16 : 8;
}

// A product of 16 rows, 8 columns and k. 256 bits of k (f16, bf16: 16; tf32: 8; others: 32) or
// half as many. a and b are the same element, but for e4m3 with e5m2 and s8 with u8. Accumulators:
// s32 for s8 and u8; f32 for all others; f16 for f16 and fp8.
struct MmaKind {
  Element a = Element::f16;
  Element b = Element::f16;
  Accumulator accumulator = Accumulator::f32;
  int k = 16;
  TensorRule rule = TensorRule::ampere;
  bool saturate = false;  // s32: clamp instead of wrapping around
};

// Registers of one warp: register r of lane l is at r[l]. Each pointer is to 32 lanes.
using Lanes = std::uint32_t*;
using ConstLanes = const std::uint32_t*;

// Operands in the fragment layouts of the PTX ISA ("Matrix Fragments for mma.m16n8k16" and the
// like), which for all elements is one layout of bytes. With 256 bits of k: a[4], b[2]; with 128:
// a[2], b[1]. f32 and s32: c[4], d[4]; f16, two a register: c[2], d[2]. d may alias any other.
struct Fragments {
  const Lanes* d;
  const ConstLanes* a;
  const ConstLanes* b;
  const ConstLanes* c;
};

void mma_m16n8(const MmaKind& kind, const Fragments& fragments);

// `tiles` products side by side, as a wgmma of n = 8 * tiles has them in one of its four warps: the
// same a; b, c and d of tile j follow those of tile j - 1. With more than one tile, d may alias c
// of the same tile alone.
void mma_m16(const MmaKind& kind, int tiles, const Fragments& fragments);

// f64: fused multiply-adds in the order of k. m is 8 (k 4; a[1], b[1], c[2], d[2]) or 16 (k 4, 8 or
// 16; a[k / 2], b[k / 4], c[4], d[4]); a register of a lane has 64 bits. d may alias c alone.
using Double [[gnu::may_alias]] = double;
using Lanes64 = Double*;
using ConstLanes64 = const Double*;
void mma_f64(int m, int k, const Lanes64* d, const ConstLanes64* a, const ConstLanes64* b,
             const ConstLanes64* c);

}  // namespace fa_tune::emulator
