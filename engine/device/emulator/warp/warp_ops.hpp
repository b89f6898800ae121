#pragma once

#include "engine/device/emulator/ir/program.hpp"

namespace fa_tune::emulator {

enum class Shuffle : std::uint8_t { up, down, bfly, idx };
enum class Vote : std::uint8_t { all, any, uni, ballot };
enum class Redux : std::uint8_t { add, min_u, max_u, min_s, max_s, bit_and, bit_or, bit_xor };
void run_shuffle(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_vote(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_match(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_redux(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_elect(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_active_mask(LaneFile& lanes, const Op& op, std::uint32_t mask);
// Reports the lanes whose indirect call has nowhere to go, or would enter a function that they are
// in: those of predicate r[0]; m[0]: it is negated.
void run_wrong_call(LaneFile& lanes, const Op& op, std::uint32_t mask);

// setmaxnreg: immediate: registers; m[0]: .inc; m[6]: 1 (aligned). More than the CTA's pool has are
// waited for.
void run_register_limit(LaneFile& lanes, const Op& op, std::uint32_t mask);

}  // namespace fa_tune::emulator
