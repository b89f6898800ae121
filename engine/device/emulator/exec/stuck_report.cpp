#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "engine/device/emulator/async/mbarrier.hpp"
#include "engine/device/emulator/exec/cluster_run.hpp"

namespace fa_tune::emulator {
namespace {

// "waiting in mbarrier.try_wait.parity.b64 (line 40) for the mbarrier at 0x400: 1 arrivals and 4096
// bytes are missing".
std::string waiting_for(Cta& cta, const Warp& warp, const Op& op) {
  const Program& program = *cta.context().program;
  const std::span<const std::byte> shared = cta.shared();
  std::string text = fmt::format("waiting in {} (line {})", program.names[op.name], op.line);
  if (warp.awaited == 0) return text;
  text += fmt::format(" for the mbarrier at 0x{:x}", warp.awaited);
  const std::uint64_t offset = (warp.awaited & kSharedOffsetMask) - kSharedReserved;
  std::uint64_t bits = 0;
  if (offset + sizeof(bits) > shared.size()) return text;
  std::memcpy(&bits, shared.data() + offset, sizeof(bits));
  if (const auto barrier = Mbarrier::from(bits)) {
    text += fmt::format(" (parity {}): {} arrivals and {} bytes are missing", barrier->parity(),
                        barrier->pending(), barrier->pending_bytes());
  }
  return text;
}

std::string whereabouts(Cta& cta) {
  const Program& program = *cta.context().program;
  std::string text;
  std::string previous;
  std::uint32_t first = 0;
  const auto say = [&](std::uint32_t end) {
    if (previous.empty()) return;
    if (!text.empty()) text += "; ";
    text += end - first > 1 ? fmt::format("warps {}-{} {}", first, end - 1, previous)
                            : fmt::format("warp {} {}", first, previous);
  };
  for (const Warp& warp : cta.warps()) {
    std::string where;
    for (const DivergentPath& path : warp.paths) {
      const Op& op = program.ops[path.pc];
      if (!where.empty()) where += " and ";
      where += path.state == DivergentPath::State::at_barrier
                   ? fmt::format("at barrier {} (line {})", path.barrier, op.line)
               : path.state == DivergentPath::State::waiting
                   ? waiting_for(cta, warp, op)
                   : fmt::format("at {} (line {}) with {} of its {} lanes", program.names[op.name],
                                 op.line, std::popcount(path.mask), std::popcount(warp.live));
    }
    if (warp.paths.empty()) where = "has exited";
    if (where != previous) {
      say(warp.index);
      previous = where;
      first = warp.index;
    }
  }
  say(static_cast<std::uint32_t>(cta.warps().size()));
  return text;
}

// Says in the report of the CTA's cluster who waits for what.
void report_stuck_cta(Cta& cta) {
  const Program& program = *cta.context().program;
  for (const Warp& warp : cta.warps()) {
    for (const DivergentPath& path : warp.paths) {
      if (path.state != DivergentPath::State::at_reconvergence) continue;
      cta.report(DiagnosticKind::barrier, warp, program.ops[path.pc], std::countr_zero(path.mask),
                 "only a part of the threads it needs has come: " + whereabouts(cta));
      return;
    }
  }
  for (const Warp& warp : cta.warps()) {
    for (const DivergentPath& path : warp.paths) {
      cta.report(DiagnosticKind::deadlock, warp, program.ops[path.pc], std::countr_zero(path.mask),
                 "no warp can go on: " + whereabouts(cta));
      return;
    }
  }
}

// The same where other blocks have not done what this one waits for; `why`: and never will.
void report_waiting_cta(Cta& cta, const std::string& why) {
  const Program& program = *cta.context().program;
  for (const Warp& warp : cta.warps()) {
    if (!warp.polls.in_vain() || warp.paths.empty()) continue;
    const auto chosen = std::max(choose_path(warp), 0);
    const DivergentPath& path = warp.paths[static_cast<std::size_t>(chosen)];
    cta.report(DiagnosticKind::deadlock, warp, program.ops[warp.polls.pc()],
               std::countr_zero(path.mask), why);
    return;
  }
  report_stuck_cta(cta);
}

}  // namespace

void ClusterRun::report_waiting(const std::string& why) {
  for (const auto& cta : cluster_.ctas()) {
    if (!cta->alive()) continue;
    report_waiting_cta(*cta, why);
    if (cluster_.has_failed()) return;
  }
}

void ClusterRun::report_stuck() {
  for (const auto& cta : cluster_.ctas()) {
    if (!cta->alive()) continue;
    report_stuck_cta(*cta);
    if (cluster_.has_failed()) return;
  }
}

}  // namespace fa_tune::emulator
