#include <tuple>

#include <fmt/format.h>

#include "engine/device/emulator/ir/program.hpp"
#include "engine/device/emulator/sanitizer/sanitizer.hpp"
#include "engine/device/emulator/state/cluster.hpp"

// What a report says. Cta::report puts the instruction, the block and the thread before it.

namespace fa_tune::emulator {
namespace {

std::string_view verb(bool writes) { return writes ? "writes" : "reads"; }
std::string_view past(bool writes) { return writes ? "wrote" : "read"; }

Dim3 block_of(const LaunchConfig& config, std::uint64_t cluster, std::uint32_t rank) {
  const Dim3& size = config.cluster;
  const std::uint64_t wide = config.grid.x / size.x;
  const std::uint64_t high = config.grid.y / size.y;
  const auto along = [](std::uint64_t index, std::uint32_t step, std::uint32_t inner) {
    return static_cast<std::uint32_t>(index) * step + inner;
  };
  return {along(cluster % wide, size.x, rank % size.x),
          along(cluster / wide % high, size.y, rank / size.x % size.y),
          along(cluster / wide / high, size.z, rank / size.x / size.y)};
}

std::string triple(const Dim3& at) { return fmt::format("({},{},{})", at.x, at.y, at.z); }

}  // namespace

// Thread number `thread` of a CTA: "thread (3,0,0)".
std::string Sanitizer::thread_text(std::uint32_t thread) const {
  const Dim3& block = context_.config.block;
  return "thread " +
         triple({thread % block.x, thread / block.x % block.y, thread / block.x / block.y});
}

// "in st.shared.u32 (line 40)".
std::string Sanitizer::where_text(std::uint32_t op) const {
  const Program& program = *context_.program;
  return fmt::format("in {} ({})", program.names[program.ops[op].name],
                     line_text(program, program.ops[op]));
}

void Sanitizer::report_race(const Conflict& conflict) {
  const Current& at = current_;
  const Stamp& before = conflict.before;
  const auto lane = static_cast<int>(conflict.lane);
  std::string who;
  if (before.agent < clocks_.warps()) {
    const std::uint32_t rank = before.agent / warps_a_cta_;
    who = thread_text(before.agent % warps_a_cta_ * kWarpSize + before.lane);
    if (rank != at.warp->cta->rank()) {
      who = "block " + triple(block_of(context_.config, cluster_, rank)) + ", " + who;
    }
  } else {
    who = "an asynchronous operation";
  }
  const std::string_view how = before.agent >= clocks_.warps()
                                   ? ", whose end this thread has not waited for"
                                   : ", and nothing orders the two";
  // Known, and so only not visible to the proxy; or the thread's own.
  const std::uint32_t warp = number(*at.warp);
  const auto known = [&](const Clock& clock) {
    return clock.known.here.covers(before.agent, before.time, 1U << before.lane);
  };
  const bool unfenced = at.asynchronous && before.agent < clocks_.warps() &&
                        ((before.agent == warp && before.lane == lane) ||
                         clocks_.view(warp).all_know(1U << lane, known));
  std::string what;
  if (unfenced) {
    what = fmt::format("{} {} it {}, with no fence.proxy.async after that", who,
                       past(conflict.before_writes), where_text(before.op));
  } else if (before.time == Stamp::kUnfinished) {
    what = fmt::format("{} is copying to it {}, and has not waited for the copy", who,
                       where_text(before.op));
  } else {
    what =
        fmt::format("{} {} it {}{}", who, past(conflict.before_writes), where_text(before.op), how);
  }
  at.warp->cta->report(
      DiagnosticKind::race, *at.warp, *at.op, lane,
      fmt::format("{} {} bytes at shared address 0x{:x}, byte {} of the block's {}; {}",
                  verb(conflict.writes), at.access->bytes, conflict.offset + kSharedReserved,
                  conflict.offset, at.owner->shared().size(), what));
}

void Sanitizer::report_global_race(const Current& at, int lane, const GlobalConflict& conflict) {
  const GlobalStamp& before = conflict.before;
  std::string who =
      "block " + triple(block_of(context_.config, before.cluster, before.strength.cta()));
  who += before.asynchronous
             ? ", an asynchronous operation"
             : ", " + thread_text(before.agent % warps_a_cta_ * kWarpSize + conflict.before_lane);
  const bool own = before.cluster == static_cast<std::uint32_t>(cluster_) &&
                   before.strength.cta() == at.warp->cta->rank();
  const std::string_view how = own && before.asynchronous
                                   ? ", whose end this thread has not waited for"
                               : own ? ", with no fence.proxy.async after that"
                                     : ", and nothing orders the two";
  at.warp->cta->report(
      DiagnosticKind::race, *at.warp, *at.op, lane,
      fmt::format("{} {} bytes at global address 0x{:x}, {}; {} {} it {}{}", verb(at.access->write),
                  at.access->bytes, conflict.address, context_.memory->describe(conflict.address),
                  who, past(conflict.before_writes), where_text(before.op), how));
}

void Sanitizer::report_unmade(Warp& warp, const Op& op, int lane, const Stamp& made, bool known) {
  std::string who = thread_text(made.agent % warps_a_cta_ * kWarpSize + made.lane);
  const std::uint32_t rank = made.agent / warps_a_cta_;
  if (rank != warp.cta->rank()) {
    who = "block " + triple(block_of(context_.config, cluster_, rank)) + ", " + who;
  }
  warp.cta->report(DiagnosticKind::race, warp, op, lane,
                   fmt::format("uses an mbarrier that {} made {}, {}", who, where_text(made.op),
                               known ? "with no fence.mbarrier_init or fence.proxy.async after that"
                                     : "and nothing orders the two"));
}

Diagnostic Sanitizer::describe_unwritten(const Current& at, int lane, Space space,
                                         std::uint64_t address,
                                         const InitShadow::Missing& missing) const {
  const std::uint32_t bytes = at.access->bytes;
  std::string what = missing.count == bytes ? std::string("which nobody has written")
                     : missing.count == 1
                         ? fmt::format("of which nobody has written byte {}", missing.first)
                         : fmt::format("of which nobody has written {}, the first byte {}",
                                       missing.count, missing.first);
  if (space == Space::global) {
    what += "; " + context_.memory->describe(address);
  } else if (space == Space::shared) {
    const SharedPlace where = place(*at.warp, address);
    what += fmt::format("; byte {} of the block's {}", where.offset,
                        at.warp->cta->cluster().ctas()[where.rank]->shared().size());
  } else {
    what += fmt::format("; byte {} of the thread's {}", static_cast<std::uint32_t>(address),
                        context_.program->local_bytes);
  }
  return at.warp->cta->describe(DiagnosticKind::uninitialized, *at.warp, *at.op, lane,
                                fmt::format("reads {} bytes at {} address 0x{:x}, {}", bytes,
                                            space_name(space), address, what));
}

// Of several the first one in the program, so that it is the same each time.
std::optional<Diagnostic> Sanitizer::describe_left_behind() const {
  const Begun* first = nullptr;
  const auto before = [&](const Begun& a, const Begun& b) {
    return std::tuple(a.op, number(*a.warp), a.lane) < std::tuple(b.op, number(*b.warp), b.lane);
  };
  for (const auto& [mbarrier, phases] : mbarriers_)
    if (phases.begun && phases.begun->time > phases.waited &&
        (first == nullptr || before(*phases.begun, *first)))
      first = &*phases.begun;
  if (first == nullptr) return std::nullopt;
  return first->warp->cta->describe(
      DiagnosticKind::sync, *first->warp, *first->op, first->lane,
      "nobody waits for what it writes to shared memory before the block ends");
}

void Sanitizer::report_exit(Warp& warp, const Op& op, int lane, std::uint32_t copy) {
  warp.cta->report(DiagnosticKind::sync, warp, op, lane,
                   "exits while what it has begun is under way, " + where_text(copy));
}

}  // namespace fa_tune::emulator
