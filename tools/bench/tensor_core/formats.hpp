#pragma once

#include <string>
#include <vector>

#include "engine/device/emulator/tensor_core/tensor_core.hpp"

namespace fa_tune::bench {

// One form of a matrix instruction, and a CUDA kernel that executes it once a warp.
struct Format {
  std::string name;  // the PTX instruction
  bool wgmma = false;
  bool f64 = false;
  int m = 16;              // 8: the upper rows of a fragment are not there (f64 m8n8k4, s8 m8n8k16)
  emulator::MmaKind kind;  // for f64: k alone counts

  int a_registers() const;
  int b_registers() const;
  int sums() const;  // registers of c and of d
  std::string arch() const { return wgmma ? "sm_90a" : "sm_90"; }
  // CUDA source without headers of `extern "C" __global__ void k(a, b, c, d)`. Register r of lane l
  // of warp w is at word (w * registers + r) * 32 + l of its operand; a block has four warps. For
  // wgmma the block's B is that of its first warp.
  std::string source() const;
};

// Every format of mma.sync and of wgmma that the emulator knows on sm_90.
std::vector<Format> all_formats();

}  // namespace fa_tune::bench
