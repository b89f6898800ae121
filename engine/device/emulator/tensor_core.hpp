#pragma once

#include <cstdint>

namespace fa_tune::emulator {

// Which generation's arithmetic a tensor core has. Source: MMA-Sim (arXiv 2511.10909).
enum class TensorRule {
  ampere,  // sm_80, sm_86, sm_89: F = 24; fp16 and bf16 k16 as two dot-adds of 8, one after the
           // other
  hopper,  // sm_90: F = 25, all of k at once
};

// Registers of one warp: register r of lane l is at r[l]. Each pointer below is to 32 lanes.
using Lanes = std::uint32_t*;
using ConstLanes = const std::uint32_t*;

// D = A * B + C for one warp, bit for bit as the tensor core does it, with operands in the fragment
// layouts of the PTX ISA (mma.sync, "Matrix Fragments for mma.m16n8k16" and the like). d may alias
// c. m16n8k16, A row-major, B column-major, f32 accumulators: a[4], b[2], c[4], d[4].
void mma_m16n8k16_f32_f16(TensorRule rule, Lanes const d[4], ConstLanes const a[4],
                          ConstLanes const b[2], ConstLanes const c[4]);
void mma_m16n8k16_f32_bf16(TensorRule rule, Lanes const d[4], ConstLanes const a[4],
                           ConstLanes const b[2], ConstLanes const c[4]);
// m16n8k8: a[2], b[1].
void mma_m16n8k8_f32_f16(TensorRule rule, Lanes const d[4], ConstLanes const a[2],
                         ConstLanes const b[1], ConstLanes const c[4]);
// f16 accumulators, two a register: c[2], d[2].
void mma_m16n8k16_f16_f16(TensorRule rule, Lanes const d[2], ConstLanes const a[4],
                          ConstLanes const b[2], ConstLanes const c[2]);

}  // namespace fa_tune::emulator
