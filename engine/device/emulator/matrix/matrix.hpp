#pragma once

#include <cstdint>

#include "engine/device/emulator/state/cta.hpp"

// What the handlers of matrix instructions share.

namespace fa_tune::emulator {

// Every lane holds a part of a matrix, so threads that have exited are missed: reports it.
bool whole_warp(Warp& warp, const Op& op, std::uint32_t mask);

// An 8 x 8 matrix of 16-bit elements, row r in lanes 4r to 4r + 3, to its transpose.
void transpose_8x8(const std::uint32_t* from, std::uint32_t* to);

}  // namespace fa_tune::emulator
