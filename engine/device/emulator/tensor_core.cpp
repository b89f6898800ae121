#include "engine/device/emulator/tensor_core.hpp"

#include "engine/device/emulator/tensor_core_reference.hpp"
#ifdef FA_TUNE_AVX2
#include "engine/device/emulator/tensor_core_avx2.hpp"
#endif

namespace fa_tune::emulator {

namespace {

void mma(const MmaKind& kind, const Fragments& fragments) {
#ifdef FA_TUNE_AVX2
  static const bool fast = avx2_available();
  if (fast) {
    mma_avx2(kind, fragments);
    return;
  }
#endif
  mma_reference(kind, fragments);
}

}  // namespace

void mma_m16n8k16_f32_f16(TensorRule rule, Lanes const d[4], ConstLanes const a[4],
                          ConstLanes const b[2], ConstLanes const c[4]) {
  mma({Element::f16, Accumulator::f32, 16, rule}, {d, a, b, c});
}

void mma_m16n8k16_f32_bf16(TensorRule rule, Lanes const d[4], ConstLanes const a[4],
                           ConstLanes const b[2], ConstLanes const c[4]) {
  mma({Element::bf16, Accumulator::f32, 16, rule}, {d, a, b, c});
}

void mma_m16n8k8_f32_f16(TensorRule rule, Lanes const d[4], ConstLanes const a[2],
                         ConstLanes const b[1], ConstLanes const c[4]) {
  mma({Element::f16, Accumulator::f32, 8, rule}, {d, a, b, c});
}

void mma_m16n8k16_f16_f16(TensorRule rule, Lanes const d[2], ConstLanes const a[4],
                          ConstLanes const b[2], ConstLanes const c[2]) {
  mma({Element::f16, Accumulator::f16, 16, rule}, {d, a, b, c});
}

}  // namespace fa_tune::emulator
