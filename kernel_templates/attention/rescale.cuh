// When a row's output and sum are brought to a new offset, which is what is subtracted from its
// scores.
#pragma once

// always: with every tile; voted: only where the maximum of a row of this warp has moved;
// threshold: only where one exceeds its offset by more than kGrowth, and until then the offset
// stays behind.
enum class Rescale { always, voted, threshold };
constexpr Rescale kRescale = Rescale::RESCALE;

// In powers of two: probabilities then reach 2^8, far from fp16's 65504, and keep their relative
// precision.
constexpr float kGrowth = 8.0f;
