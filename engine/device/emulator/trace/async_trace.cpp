#include "engine/device/emulator/trace/async_trace.hpp"

#include "engine/device/emulator/trace/record.hpp"

namespace fa_tune::emulator {
namespace {

// Of a CTA; bounds what is kept of a kernel without end.
constexpr std::size_t kMostPhases = 200'000;

}  // namespace

std::uint32_t Record::open_phase(std::uint32_t slot) {
  auto& phases = blocks_[first_open_ + slot].phases;
  if (phases.size() >= kMostPhases) return kNoPhase;
  phases.emplace_back();
  return static_cast<std::uint32_t>(phases.size() - 1);
}

void Record::make_mbarrier(std::uint32_t slot, const std::byte* where) {
  mbarriers_[where] = {slot, open_phase(slot), kNoPhase};
}

void Record::complete_phase(const std::byte* where) {
  MbarrierNames::Name* const name = mbarriers_.find(where);
  if (name == nullptr) return;
  name->before = name->current;
  name->current = open_phase(name->slot);
}

AsyncEvent* Record::add_event(std::uint32_t slot, std::uint32_t warp, AsyncEvent::Kind kind,
                              std::uint32_t phase) {
  WarpTrace& trace = blocks_[first_open_ + slot].warps[warp];
  if (trace.kept == 0 || trace.kept != trace.instructions) return nullptr;
  const auto at = static_cast<std::uint32_t>(trace.kept - 1);
  // Lanes that do the same at once are one event.
  if (!trace.events.empty()) {
    AsyncEvent& latest = trace.events.back();
    const bool copies = kind == AsyncEvent::Kind::load || kind == AsyncEvent::Kind::store;
    if (!copies && latest.at == at && latest.kind == kind && latest.phase == phase) return &latest;
  }
  trace.events.push_back({at, phase, 0, 1, kind});
  const bool signals =
      kind != AsyncEvent::Kind::wait && kind != AsyncEvent::Kind::barrier && phase != kNoPhase;
  if (signals) blocks_[first_open_ + slot].phases[phase].signals += 1;
  return &trace.events.back();
}

void Record::arrive(std::uint32_t slot, std::uint32_t warp, const std::byte* where,
                    bool after_copies) {
  const MbarrierNames::Name* const name = mbarriers_.find(where);
  if (name == nullptr || name->current == kNoPhase) return;
  if (name->slot != slot) {
    blocks_[first_open_ + name->slot].phases[name->current].peer_arrivals = true;
    return;
  }
  add_event(slot, warp, after_copies ? AsyncEvent::Kind::arrive_copies : AsyncEvent::Kind::arrive,
            name->current);
}

void Record::pass(std::uint32_t slot, std::uint32_t warp, const std::byte* where) {
  const MbarrierNames::Name* const name = mbarriers_.find(where);
  if (name == nullptr || name->before == kNoPhase || name->slot != slot) return;
  add_event(slot, warp, AsyncEvent::Kind::wait, name->before);
}

void Record::load(std::uint32_t slot, std::uint32_t warp, bool from_global,
                  std::span<const std::byte* const> mbarriers, std::uint32_t bytes) {
  std::uint32_t own = kNoPhase;
  for (const std::byte* where : mbarriers) {
    const MbarrierNames::Name* const name = mbarriers_.find(where);
    if (name == nullptr || name->current == kNoPhase) continue;
    MbarrierPhase& phase = blocks_[first_open_ + name->slot].phases[name->current];
    if (name->slot == slot) {
      own = name->current;
      phase.own_bytes += bytes;
    } else {
      phase.peer_bytes += bytes;
    }
  }
  const auto kind = from_global ? AsyncEvent::Kind::load : AsyncEvent::Kind::peer;
  if (AsyncEvent* event = add_event(slot, warp, kind, own)) {
    event->bytes += bytes;
    event->receivers = static_cast<std::uint16_t>(mbarriers.size());
  }
}

void Record::join_barrier(std::uint32_t slot, std::uint32_t warp, std::uint32_t number,
                          std::uint32_t warps) {
  if (AsyncEvent* event = add_event(slot, warp, AsyncEvent::Kind::barrier, number))
    event->bytes = warps;
}

void Record::store(std::uint32_t slot, std::uint32_t warp, std::uint32_t bytes) {
  if (AsyncEvent* event = add_event(slot, warp, AsyncEvent::Kind::store, kNoPhase)) {
    event->bytes = bytes;
  }
}

}  // namespace fa_tune::emulator
