#include "engine/device/emulator/tensor_core/tensor_core.hpp"

#include <bit>
#include <cmath>

#include "engine/device/emulator/tensor_core/tensor_core_reference.hpp"
#ifdef FA_TUNE_AVX2
#include "engine/device/emulator/tensor_core/tensor_core_avx2.hpp"
#endif

namespace fa_tune::emulator {

TensorRule tensor_rule_of(std::string_view arch) {
  if (arch.ends_with("a")) arch.remove_suffix(1);
  if (arch == "sm_90") return TensorRule::hopper;
  if (arch == "sm_89") return TensorRule::ada;
  if (arch == "sm_80" || arch == "sm_86" || arch == "sm_87") return TensorRule::ampere;
  return TensorRule::unknown;
}

void mma_m16n8(const MmaKind& kind, const Fragments& fragments) { mma_m16(kind, 1, fragments); }

void mma_m16(const MmaKind& kind, int tiles, const Fragments& fragments) {
  const bool apart = is_two_of_f16(kind);
#ifdef FA_TUNE_AVX2
  static const bool fast = avx2_available();
  if (fast && !apart) {
    mma_avx2(kind, tiles, fragments);
    return;
  }
#endif
  const int b_registers = kind.k * bits_of(kind.b) / 128;
  const int sums = kind.accumulator == Accumulator::f16 ? 2 : 4;
  Fragments tile = fragments;
  for (int i = 0; i < tiles; ++i) {
    if (apart) {
      mma_as_two_of_f16(kind, tile, mma_m16n8);
    } else {
      mma_reference(kind, tile);
    }
    tile.b += b_registers;
    tile.c += sums;
    tile.d += sums;
  }
}

namespace {

// a * b + c, rounded once. Of several NaN that of b comes out, else c's, else a's, made quiet; a
// NaN out of nothing is negative (measured on an H100).
double fused(double a, double b, double c) {
  const double sum = std::fma(a, b, c);
  if (!std::isnan(sum)) return sum;
  for (const double each : {b, c, a}) {
    if (std::isnan(each)) {
      return std::bit_cast<double>(std::bit_cast<std::uint64_t>(each) | std::uint64_t{1} << 51);
    }
  }
  return std::bit_cast<double>(std::uint64_t{0xFFF8} << 48);
}

}  // namespace

// Fragment layouts, PTX ISA, "Matrix Fragments for mma.m8n8k4" and "mma.m16n8k4, m16n8k8 with
// .f64": with group = lane / 4 and t = lane % 4, lane holds of A rows group (and group + 8), of B
// column group, each at k = t (and t + 4); of C rows group (and group + 8), columns 2t and 2t + 1.
void mma_f64(int m, int k, const Lanes64* d, const ConstLanes64* a, const ConstLanes64* b,
             const ConstLanes64* c) {
  const int halves = m / 8;
  double results[4][32];
  for (int i = 0; i < 2 * halves; ++i) {
    for (int lane = 0; lane < 32; ++lane) {
      const int group = lane / 4;
      const int column = 2 * (lane % 4) + i % 2;
      double sum = c[i][lane];
      for (int each = 0; each < k; ++each) {
        const double left = a[i / 2 + halves * (each / 4)][group * 4 + each % 4];
        const double right = b[each / 4][column * 4 + each % 4];
        sum = fused(left, right, sum);
      }
      results[i][lane] = sum;
    }
  }
  for (int i = 0; i < 2 * halves; ++i) {
    for (int lane = 0; lane < 32; ++lane) d[i][lane] = results[i][lane];
  }
}

}  // namespace fa_tune::emulator
