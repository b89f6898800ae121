#include "engine/device/emulator/warp/warp_ops.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "engine/device/emulator/state/cta.hpp"

// Exchanges among the lanes of a warp. r[15]: member mask; m[6]: 0 (the executor waits for the
// members). Others as said at each.

namespace fa_tune::emulator {
namespace {

void set_predicate(LaneFile& lanes, std::uint16_t index, std::uint32_t value, std::uint32_t mask) {
  if (index == kNoOperand) return;
  std::uint32_t& word = lanes.predicates[index];
  word = (word & ~mask) | (value & mask);
}

void write(LaneFile& lanes, std::uint16_t index, const std::uint32_t* values, std::uint32_t mask) {
  if (index == kNoOperand) return;
  std::uint32_t* out = target_slot(lanes, index);
  for (std::uint32_t lane = 0; lane < kWarpSize; ++lane) {
    out[lane] = (mask >> lane & 1U) != 0 ? values[lane] : out[lane];
  }
}

template <Shuffle Mode>
std::uint32_t shuffle_lanes(LaneFile& lanes, const Op& op, std::uint32_t* result) {
  const std::uint32_t* a = slot(lanes, op.r[2]);
  const std::uint32_t* b = slot(lanes, op.r[3]);
  const std::uint32_t* c = slot(lanes, op.r[4]);
  std::uint32_t in_range = 0;
  for (std::uint32_t lane = 0; lane < kWarpSize; ++lane) {
    const std::uint32_t by = b[lane] & 31U;
    const std::uint32_t segment = c[lane] >> 8 & 31U;
    const std::uint32_t last = (lane & segment) | (c[lane] & 31U & ~segment);
    std::uint32_t from = (lane & segment) | (by & ~segment);  // idx
    if (Mode == Shuffle::up) from = lane - by;
    if (Mode == Shuffle::down) from = lane + by;
    if (Mode == Shuffle::bfly) from = lane ^ by;
    const bool valid = Mode == Shuffle::up
                           ? static_cast<std::int32_t>(from) >= static_cast<std::int32_t>(last)
                           : from <= last;
    result[lane] = a[(valid ? from : lane) & 31U];
    in_range |= static_cast<std::uint32_t>(valid) << lane;
  }
  return in_range;
}

}  // namespace

// d, predicate or none, a, lane or distance, clamp and segment mask; m[0]: Shuffle. The formulas
// are those of the PTX ISA, shfl.sync.
void run_shuffle(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  std::uint32_t result[kWarpSize];
  std::uint32_t in_range = 0;
  switch (static_cast<Shuffle>(op.m[0])) {
    case Shuffle::up:
      in_range = shuffle_lanes<Shuffle::up>(lanes, op, result);
      break;
    case Shuffle::down:
      in_range = shuffle_lanes<Shuffle::down>(lanes, op, result);
      break;
    case Shuffle::bfly:
      in_range = shuffle_lanes<Shuffle::bfly>(lanes, op, result);
      break;
    case Shuffle::idx:
      in_range = shuffle_lanes<Shuffle::idx>(lanes, op, result);
      break;
  }
  write(lanes, op.r[0], result, mask);
  set_predicate(lanes, op.r[1], in_range, mask);
}

// target (a predicate, for ballot a register), predicate; m[0]: Vote; m[1]: predicate negated.
void run_vote(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  const std::uint32_t word = lanes.predicates[op.r[1]];
  const std::uint32_t holds = (op.m[1] != 0 ? ~word : word);
  const std::uint32_t* members = slot(lanes, op.r[15]);
  std::uint32_t ballots[kWarpSize];
  std::uint32_t result = 0;
  for (std::uint32_t lane = 0; lane < kWarpSize; ++lane) {
    const std::uint32_t voters = members[lane] & mask;
    const std::uint32_t yes = holds & voters;
    ballots[lane] = yes;
    bool answer = false;
    switch (static_cast<Vote>(op.m[0])) {
      case Vote::all:
        answer = yes == voters;
        break;
      case Vote::any:
        answer = yes != 0;
        break;
      default:
        answer = yes == voters || yes == 0;
        break;
    }
    result |= static_cast<std::uint32_t>(answer) << lane;
  }
  if (static_cast<Vote>(op.m[0]) == Vote::ballot) {
    write(lanes, op.r[0], ballots, mask);
  } else {
    set_predicate(lanes, op.r[0], result, mask);
  }
}

// d, predicate or none, a; m[0]: 1 for all, 0 for any; m[1]: bytes of a.
void run_match(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  const std::uint32_t* members = slot(lanes, op.r[15]);
  const auto value = [&](std::uint32_t lane) -> std::uint64_t {
    return op.m[1] == 8 ? std::uint64_t{slot64(lanes, op.r[2])[lane]} : slot(lanes, op.r[2])[lane];
  };
  std::uint32_t result[kWarpSize] = {};
  std::uint32_t same = 0;
  for (std::uint32_t lane = 0; lane < kWarpSize; ++lane) {
    if ((mask >> lane & 1U) == 0) continue;
    const std::uint32_t voters = members[lane] & mask;
    std::uint32_t equal = 0;
    for (std::uint32_t other = 0; other < kWarpSize; ++other) {
      if ((voters >> other & 1U) != 0 && value(other) == value(lane)) equal |= 1U << other;
    }
    const bool all = equal == voters;
    result[lane] = op.m[0] == 0 || all ? equal : 0;
    same |= static_cast<std::uint32_t>(all) << lane;
  }
  write(lanes, op.r[0], result, mask);
  set_predicate(lanes, op.r[1], same, mask);
}

// d, a; m[0]: Redux.
void run_redux(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  const std::uint32_t* members = slot(lanes, op.r[15]);
  const std::uint32_t* a = slot(lanes, op.r[1]);
  const auto join = [&](std::uint32_t x, std::uint32_t y) {
    const auto sx = static_cast<std::int32_t>(x);
    const auto sy = static_cast<std::int32_t>(y);
    switch (static_cast<Redux>(op.m[0])) {
      case Redux::add:
        return x + y;
      case Redux::min_u:
        return std::min(x, y);
      case Redux::max_u:
        return std::max(x, y);
      case Redux::min_s:
        return static_cast<std::uint32_t>(std::min(sx, sy));
      case Redux::max_s:
        return static_cast<std::uint32_t>(std::max(sx, sy));
      case Redux::bit_and:
        return x & y;
      case Redux::bit_or:
        return x | y;
      case Redux::bit_xor:
        return x ^ y;
    }
    return x;
  };
  std::uint32_t result[kWarpSize] = {};
  for (std::uint32_t lane = 0; lane < kWarpSize; ++lane) {
    if ((mask >> lane & 1U) == 0) continue;
    std::uint32_t voters = members[lane] & mask;
    std::uint32_t total = a[std::countr_zero(voters)];
    for (voters &= voters - 1; voters != 0; voters &= voters - 1) {
      total = join(total, a[std::countr_zero(voters)]);
    }
    result[lane] = total;
  }
  write(lanes, op.r[0], result, mask);
}

// d or none, predicate: one lane of the members is chosen, the lowest.
void run_elect(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  const auto leader = static_cast<std::uint32_t>(std::countr_zero(mask));
  std::uint32_t result[kWarpSize];
  std::fill(std::begin(result), std::end(result), leader);
  write(lanes, op.r[0], result, mask);
  set_predicate(lanes, op.r[1], 1U << leader, mask);
}

void run_active_mask(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  std::uint32_t result[kWarpSize];
  std::fill(std::begin(result), std::end(result), mask);
  write(lanes, op.r[0], result, mask);
}

void run_register_limit(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  Warp& warp = warp_of(lanes);
  if (warp.registers == 0) return;
  const auto count = static_cast<std::uint32_t>(op.immediate);
  const bool wrong = op.m[0] != 0 ? count < warp.registers : count > warp.registers;
  if (wrong && warp.cta->context().checks.sync) {
    warp.cta->report(DiagnosticKind::sync, warp, op, std::countr_zero(mask),
                     fmt::format("asks for {} registers; it has {}", count, warp.registers));
    return;
  }
  warp.awaited = 0;
  if (!warp.cta->take_registers(warp, count)) warp.outcome = Warp::Outcome::wait;
}

void run_wrong_call(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  const std::uint32_t word = lanes.predicates[op.r[0]];
  const std::uint32_t wrong = mask & (op.m[0] != 0 ? ~word : word);
  if (wrong == 0) return;
  const Warp& warp = warp_of(lanes);
  warp.cta->report(DiagnosticKind::trap, warp, op, std::countr_zero(wrong),
                   "the address it calls is of no function of that form, or of one that calls "
                   "itself, which the emulator does not know");
}

}  // namespace fa_tune::emulator
