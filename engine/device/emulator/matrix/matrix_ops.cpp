#include "engine/device/emulator/matrix/matrix_ops.hpp"

#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "engine/device/emulator/memory/address_resolution.hpp"
#include "engine/device/emulator/memory/shared_wavefronts.hpp"
#include "engine/device/emulator/tensor_core/tensor_core.hpp"

// ldmatrix, stmatrix: r[0..3]: registers; r[8]: row addresses; m[2], immediate as in access.hpp;
// m[0]: space; m[4]: matrices; m[6]: 1 (aligned); m[5]: transposed.
// movmatrix: r[0]: d; r[1]: a; m[6]: 1.
// mma: r[0..3] d, r[4..7] a, r[8..9] b, r[10..13] c; m[0..5]: MmaKind; m[6]: 1; immediate:
// floating-point operations. Of f64: m[0]: m, m[3]: k.

namespace fa_tune::emulator {
namespace {

constexpr std::uint32_t kRowBytes = 16;
constexpr std::uint32_t kRows = 8;

// The row addresses of ldmatrix and stmatrix as pointers: matrix j's row i is that of lane 8j + i.
bool resolve_rows(Warp& warp, const Op& op, bool write, Pointers& pointers) {
  const std::uint32_t matrices = op.m[4];
  const std::uint32_t givers = matrices == 4 ? kFullMask : (1U << (matrices * kRows)) - 1;
  const Access access{static_cast<Space>(op.m[0]), kRowBytes, write};
  Addresses addresses;
  compute_addresses(warp, op, op.r[8], op.m[2], addresses);
  if (!resolve(warp, op, givers, access, addresses, pointers)) return false;
  if (Counters* counters = warp.cta->counters()) {
    const Wavefronts wavefronts = shared_wavefronts_of_rows(givers, addresses);
    counters->shared_wavefronts += wavefronts.taken;
    counters->shared_wavefronts_ideal += wavefronts.ideal;
  }
  return true;
}

const std::uint32_t* source_or(LaneFile& lanes, std::uint16_t operand, const std::uint32_t* other) {
  return operand == kNoOperand ? other : slot(lanes, operand);
}

}  // namespace

void count_tensor(LaneFile& lanes, const Op& op) {
  warp_of(lanes).cta->add_flop(static_cast<std::uint64_t>(op.immediate));
  if (Counters* counters = warp_of(lanes).cta->counters()) {
    counters->tensor_flop += static_cast<std::uint64_t>(op.immediate);
  }
}

bool whole_warp(Warp& warp, const Op& op, std::uint32_t mask) {
  if (mask == kFullMask) return true;
  warp.cta->report(
      DiagnosticKind::barrier, warp, op, std::countr_zero(mask),
      fmt::format("only {} threads of the warp are left; it wants all 32", std::popcount(mask)));
  return false;
}

void transpose_8x8(const std::uint32_t* from, std::uint32_t* to) {
  for (std::uint32_t lane = 0; lane < kWarpSize; ++lane) {
    // Element c of row r is half c % 2 of lane 4r + c / 2.
    const std::uint32_t column = lane / 4;
    const std::uint32_t row = 2 * (lane % 4);
    const std::uint32_t shift = column % 2 * 16;
    const std::uint32_t low = from[4 * row + column / 2] >> shift & 0xffffU;
    const std::uint32_t high = from[4 * (row + 1) + column / 2] >> shift & 0xffffU;
    to[lane] = high << 16 | low;
  }
}

// Lane t receives elements 2(t%4) and 2(t%4)+1 of row t/4, or, transposed, rows 2(t%4) and 2(t%4)+1
// of column t/4 (PTX ISA, ldmatrix).
void run_ldmatrix(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  Warp& warp = warp_of(lanes);
  if (!whole_warp(warp, op, mask)) return;
  Pointers pointers{};
  if (!resolve_rows(warp, op, false, pointers)) return;
  for (std::size_t j = 0; j < op.m[4]; ++j) {
    std::uint32_t* out = target_slot(lanes, op.r[j]);
    const std::byte* const* row = pointers.data() + j * kRows;
    for (std::size_t lane = 0; lane < kWarpSize; ++lane) {
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

// The places are ldmatrix's (PTX ISA, stmatrix).
void run_stmatrix(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  Warp& warp = warp_of(lanes);
  if (!whole_warp(warp, op, mask)) return;
  Pointers pointers{};
  if (!resolve_rows(warp, op, true, pointers)) return;
  for (std::size_t j = 0; j < op.m[4]; ++j) {
    const std::uint32_t* from = slot(lanes, op.r[j]);
    std::byte* const* row = pointers.data() + j * kRows;
    for (std::size_t lane = 0; lane < kWarpSize; ++lane) {
      const std::size_t pair = 2 * (lane % 4);
      const std::size_t other = lane / 4;
      if (op.m[5] == 0) {
        std::memcpy(row[other] + pair * 2, from + lane, 4);
      } else {
        const auto low = static_cast<std::uint16_t>(from[lane]);
        const auto high = static_cast<std::uint16_t>(from[lane] >> 16);
        std::memcpy(row[pair] + other * 2, &low, 2);
        std::memcpy(row[pair + 1] + other * 2, &high, 2);
      }
    }
  }
}

void run_movmatrix(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  if (!whole_warp(warp_of(lanes), op, mask)) return;
  std::uint32_t from[kWarpSize];
  std::memcpy(from, slot(lanes, op.r[1]), sizeof(from));
  transpose_8x8(from, target_slot(lanes, op.r[0]));
}

void run_mma(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  if (!whole_warp(warp_of(lanes), op, mask)) return;
  // What an instruction of fewer rows does not have is zero and goes nowhere.
  constexpr static std::uint32_t zero[kWarpSize] = {};
  std::uint32_t nowhere[kWarpSize];
  Lanes d[4];
  ConstLanes a[4];
  ConstLanes b[2];
  ConstLanes c[4];
  for (std::size_t i = 0; i < 4; ++i) {
    d[i] = op.r[i] == kNoOperand ? nowhere : target_slot(lanes, op.r[i]);
    a[i] = source_or(lanes, op.r[4 + i], zero);
    c[i] = source_or(lanes, op.r[10 + i], zero);
  }
  for (std::size_t i = 0; i < 2; ++i) b[i] = source_or(lanes, op.r[8 + i], zero);
  const MmaKind kind{static_cast<Element>(op.m[0]),     static_cast<Element>(op.m[1]),
                     static_cast<Accumulator>(op.m[2]), op.m[3],
                     static_cast<TensorRule>(op.m[4]),  op.m[5] != 0};
  mma_m16n8(kind, {d, a, b, c});
  count_tensor(lanes, op);
}

void run_mma_f64(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  if (!whole_warp(warp_of(lanes), op, mask)) return;
  const auto source = [&](std::size_t i) {
    return op.r[i] == kNoOperand ? nullptr
                                 : reinterpret_cast<const Double*>(slot64(lanes, op.r[i]));
  };
  Lanes64 d[4];
  ConstLanes64 a[4];
  ConstLanes64 b[2];
  ConstLanes64 c[4];
  for (std::size_t i = 0; i < 4; ++i) {
    d[i] =
        op.r[i] == kNoOperand ? nullptr : reinterpret_cast<Double*>(target_slot64(lanes, op.r[i]));
    a[i] = source(4 + i);
    c[i] = source(10 + i);
  }
  for (std::size_t i = 0; i < 2; ++i) b[i] = source(8 + i);
  mma_f64(op.m[0], op.m[3], d, a, b, c);
  count_tensor(lanes, op);
}

}  // namespace fa_tune::emulator
