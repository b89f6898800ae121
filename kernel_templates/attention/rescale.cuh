// When a row's output and sum are brought to a new offset, which is what is subtracted from its
// scores.
#pragma once

// always: with every tile; voted: only where the maximum of a row of this warp has moved;
// threshold: only where one exceeds its offset by more than kGrowth, and until then the offset
// stays behind;
// by_sum: what the first keys gave stays (their maximum; in e4m3 their sums too), and no maximum is
// looked for. Probabilities are computed with the offset there is, and their sums tell: only where
// a thread's sum passes kLargestSum are the maxima found, and then the probabilities anew, of the
// tile (wgmma.cu) or of the whole block (mma.cu). That leaves out an instruction a score, and the
// exponentials wait for no maximum.
enum class Rescale { always, voted, threshold, by_sum };
constexpr Rescale kRescale = Rescale::RESCALE;

// In powers of two: probabilities then reach 2^8, far from fp16's 65504, and keep their relative
// precision. In e4m3 they begin at 2^6 (wgmma_softmax.cuh), and 2^8.8 is below its 448.
constexpr float kGrowth = DTYPE_E4M3 ? 2.8f : 8.0f;

// No probability is larger than a sum that has it: 2^14 is below fp16's 65504, e4m3 ends at 448.
constexpr float kLargestSum = DTYPE_E4M3 ? 448.0f : 16384.0f;
