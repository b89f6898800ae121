#pragma once

#include "engine/device/emulator/tensor_core/tensor_core.hpp"

namespace fa_tune::emulator {

using MmaFunction = void (*)(const MmaKind& kind, const Fragments& fragments);

// fp8 by the instructions that ptxas 13 makes of it on sm_90: F2FP.F16.E4M3.UNPACK_B of the lower
// and of the upper half of every register, HMMA of each (the first from zero), then FADD or HADD2
// of c. `f16` does one f16 mma.
void mma_as_two_of_f16(const MmaKind& kind, const Fragments& fragments, MmaFunction f16);

}  // namespace fa_tune::emulator
