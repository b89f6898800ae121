#pragma once

#include "engine/device/emulator/tensor_core/tensor_core_reference.hpp"

namespace fa_tune::emulator {

// Whether this processor has what mma_avx2 needs: AVX2, FMA and F16C.
bool avx2_available();

// The same as mma_reference for each of `tiles` products (see mma_m16), bit for bit, for a
// processor with AVX2; not for instructions that are two of f16. Rows whose operands leave the
// range it is made for (infinite products, NaN, finite c of 2^101 and more, all terms below 2^-90)
// are computed by mma_reference_row; returns how many rows those were.
int mma_avx2(const MmaKind& kind, int tiles, const Fragments& fragments);

// Its part for s8 and u8.
int mma_avx2_bytes(const MmaKind& kind, int tiles, const Fragments& fragments);

}  // namespace fa_tune::emulator
