#pragma once

#include "engine/device/emulator/ir/program.hpp"

namespace fa_tune::emulator {

void run_load(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_store(LaneFile& lanes, const Op& op, std::uint32_t mask);
// m[0] of a fence: what it orders accesses for. proxy: fence.proxy.async.
enum class FenceKind : std::uint8_t { cta, gpu, proxy };
void run_fence(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_clock(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_isspacep(LaneFile& lanes, const Op& op, std::uint32_t mask);
void run_nothing(LaneFile& lanes, const Op& op, std::uint32_t mask);

}  // namespace fa_tune::emulator
