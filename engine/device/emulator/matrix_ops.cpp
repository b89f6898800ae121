#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "engine/device/emulator/access.hpp"
#include "engine/device/emulator/ops.hpp"
#include "engine/device/emulator/tensor_core.hpp"

// ldmatrix: r[0..3]: targets; r[8]: row addresses; m[2], immediate as in access.hpp; m[0]: space;
// m[4]: matrices; m[6]: 1 (aligned); m[5]: transposed.
// mma: r[0..3] d, r[4..7] a, r[8..9] b, r[10..13] c; m[0..5]: MmaKind; m[6]: 1;
// immediate: floating-point operations.

namespace fa_tune::emulator {
namespace {

constexpr std::uint32_t row_bytes = 16;
constexpr std::uint32_t rows = 8;

// Every lane holds a part of a matrix, so threads that have exited are missed.
bool whole_warp(Warp& warp, const Op& op, std::uint32_t mask) {
  if (mask == full_mask) return true;
  warp.cta->report(
      TroubleKind::barrier, warp, op, std::countr_zero(mask),
      fmt::format("only {} threads of the warp are left; it wants all 32", std::popcount(mask)));
  return false;
}

}  // namespace

// Matrix j: lane 8j + i gives the address of row i. Lane t receives elements 2(t%4) and 2(t%4)+1 of
// row t/4, or, transposed, rows 2(t%4) and 2(t%4)+1 of column t/4 (PTX ISA, ldmatrix).
void run_ldmatrix(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  Warp& warp = warp_of(lanes);
  if (!whole_warp(warp, op, mask)) return;
  const std::uint32_t matrices = op.m[4];
  const std::uint32_t givers = matrices == 4 ? full_mask : (1U << (matrices * rows)) - 1;
  const Access access{static_cast<Space>(op.m[0]), row_bytes, false};
  Addresses addresses;
  Pointers pointers{};
  compute_addresses(lanes, op, op.r[8], op.m[2], addresses);
  if (!resolve(warp, op, givers, access, addresses, pointers)) return;
  if (Counters* counters = warp.cta->counters()) {
    count_shared(*counters, givers, row_bytes, addresses);
  }
  for (std::size_t j = 0; j < matrices; ++j) {
    std::uint32_t* out = target_slot(lanes, op.r[j]);
    for (std::size_t lane = 0; lane < warp_size; ++lane) {
      const std::byte* const* row = pointers.data() + j * rows;
      const std::size_t pair = 2 * (lane % 4);
      const std::size_t other = lane / 4;
      if (op.m[5] == 0) {
        std::memcpy(out + lane, row[other] + pair * 2, 4);
      } else {
        std::uint16_t low = 0;
        std::uint16_t high = 0;
        std::memcpy(&low, row[pair] + other * 2, 2);
        std::memcpy(&high, row[pair + 1] + other * 2, 2);
        out[lane] = std::uint32_t{high} << 16 | low;
      }
    }
  }
}

void run_mma(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  if (!whole_warp(warp_of(lanes), op, mask)) return;
  Lanes d[4];
  ConstLanes a[4];
  ConstLanes b[2];
  ConstLanes c[4];
  for (std::size_t i = 0; i < 4; ++i) {
    d[i] = op.r[i] == no_operand ? nullptr : target_slot(lanes, op.r[i]);
    a[i] = op.r[4 + i] == no_operand ? nullptr : slot(lanes, op.r[4 + i]);
    c[i] = op.r[10 + i] == no_operand ? nullptr : slot(lanes, op.r[10 + i]);
  }
  for (std::size_t i = 0; i < 2; ++i) {
    b[i] = op.r[8 + i] == no_operand ? nullptr : slot(lanes, op.r[8 + i]);
  }
  const MmaKind kind{static_cast<Element>(op.m[0]),     static_cast<Element>(op.m[1]),
                     static_cast<Accumulator>(op.m[2]), op.m[3],
                     static_cast<TensorRule>(op.m[4]),  op.m[5] != 0};
  mma_m16n8(kind, {d, a, b, c});
  if (Counters* counters = warp_of(lanes).cta->counters()) {
    counters->tensor_flop += static_cast<std::uint64_t>(op.immediate);
  }
}

}  // namespace fa_tune::emulator
