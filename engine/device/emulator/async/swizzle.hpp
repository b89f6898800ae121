#pragma once

#include <cstdint>

namespace fa_tune::emulator {

// How 16-byte pieces of shared memory change places, so that rows and columns of a tile are read
// without bank conflicts (PTX ISA, "Swizzling Modes", and the canonical layouts of wgmma): bits 4
// and up of a shared address become their exclusive or with bits 7 and up, as many as `bits` says:
// 1 for spans of 32 bytes, 2 for 64, 3 for 128. So the pattern repeats every 256, 512 or 1024
// bytes.
constexpr std::uint32_t swizzled(std::uint32_t address, unsigned bits) {
  return address ^ (address >> 3 & ((1U << bits) - 1) << 4);
}

}  // namespace fa_tune::emulator
