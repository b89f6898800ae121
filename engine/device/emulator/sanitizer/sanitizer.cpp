#include "engine/device/emulator/sanitizer/sanitizer.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "engine/device/emulator/state/cluster.hpp"

// Accesses to memory; races in global memory are in sanitizer_global.cpp. What orders accesses is in
// sanitizer_order.cpp and sanitizer_mbarrier.cpp, the words are in sanitizer_report.cpp.

namespace fa_tune::emulator {
namespace {

std::uint32_t warps_of(const LaunchContext& context) {
  return static_cast<std::uint32_t>((context.config.block.count() + kWarpSize - 1) / kWarpSize);
}

std::size_t shared_bytes(const LaunchContext& context) {
  return context.program->dynamic_shared_begin - kSharedReserved +
         context.config.dynamic_shared_bytes;
}

bool is_asynchronous(const LaunchContext& context) {
  const auto& names = context.program->names;
  return std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return name.starts_with("wgmma.mma_async") || name.starts_with("cp.async.bulk") ||
           name.starts_with("cp.reduce.async");
  });
}

// Of keys of what was stored undefined: those of shared memory begin with the CTA's rank.
constexpr std::uint32_t kLocalKey = 1U << 16;

// Agents whose reads a place of shared memory remembers: the warps, and what reads for them. Copies
// that an mbarrier ends read as its agent; a place has few of those.
std::uint32_t readers(const LaunchContext& context, std::uint32_t warps) {
  return is_asynchronous(context) ? 3 * warps + 2 : warps;
}

}  // namespace

Sanitizer::Sanitizer(const LaunchContext& context, std::uint32_t ctas)
    : context_(context),
      checks_(context.checks),
      warps_a_cta_(warps_of(context)),
      clocks_(ctas * warps_of(context)),
      copies_(ctas * warps_of(context)),
      waited_(ctas * warps_of(context)),
      barriers_(ctas),
      global_(*context.between_blocks) {
  for (auto& warps : grouped_) {
    warps.resize(clocks_.warps());
    if (!is_asynchronous(context)) continue;
    for (Grouped& grouped : warps) grouped.agent = clocks_.add_agent();
  }
  const std::size_t bytes = shared_bytes(context);
  for (std::uint32_t cta = 0; cta < ctas; ++cta) {
    if (checks_.races) cells_.emplace_back(bytes, readers(context, clocks_.warps()));
    if (checks_.initialized) shared_written_.emplace_back(bytes);
  }
  if (checks_.initialized) {
    local_written_.assign(clocks_.warps(),
                          InitShadow(std::size_t{context.program->local_bytes} * kWarpSize));
    undefined_.resize(clocks_.warps());
  }
}

void Sanitizer::start(std::uint64_t index) {
  cluster_ = index;
  clocks_.restart();
  for (InitShadow& map : shared_written_) map.clear();
  for (InitShadow& map : local_written_) map.clear();
  for (std::vector<Undefined>& values : undefined_) values.assign(values.size(), {});
  stored_undefined_.clear();
  for (auto& barriers : barriers_) barriers.fill({});
  for (PendingCopies& copies : copies_) copies.clear();
  waited_.assign(waited_.size(), {});
  for (auto& warps : grouped_) {
    for (Grouped& grouped : warps) grouped.parts.clear();
  }
  cluster_coming_.clear();
  cluster_over_.clear();
  for (auto& [where, phases] : mbarriers_) {
    phases.coming = {};
    phases.over = {};
    phases.made.reset();
    phases.begun.reset();
    phases.waited = 0;
  }
  flags_.clear();
}

std::optional<Diagnostic> Sanitizer::finalize(std::optional<Diagnostic> diagnostic) {
  if (!diagnostic && checks_.sync && checks_.races) return describe_left_behind();
  if (!diagnostic || !unwritten_ || diagnostic->kind == DiagnosticKind::race) return diagnostic;
  return std::exchange(unwritten_, std::nullopt);
}

std::optional<Diagnostic> Sanitizer::finish() {
  if (!unwritten_) tell_notes();
  return std::exchange(unwritten_, std::nullopt);
}

bool Sanitizer::access(Warp& warp, const Op& op, std::uint32_t mask, const Access& access,
                       const Addresses& addresses) {
  Current at{&warp, &op, &access, &addresses, mask, nullptr, false, {}};
  switch (access.space) {
    case Space::shared:
    case Space::cluster:
      return access_shared(at);
    case Space::local:
      return access_local(at);
    case Space::global:
      return access_global(at);
    case Space::generic:
      break;
    default:
      return true;
  }
  std::uint32_t shared = 0;
  std::uint32_t local = 0;
  std::uint32_t global = 0;
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const std::uint32_t bit = rest & (0U - rest);
    const std::uint64_t address = addresses[static_cast<std::size_t>(std::countr_zero(rest))];
    if (in_window(address, kSharedWindow)) {
      shared |= bit;
    } else if (in_window(address, kLocalWindow)) {
      local |= bit;
    } else if (address >= kGlobalBegin) {
      global |= bit;
    }
  }
  const auto part = [&](std::uint32_t lanes, bool (Sanitizer::*check)(const Current&)) {
    at.mask = lanes;
    return lanes == 0 || (this->*check)(at);
  };
  return part(shared, &Sanitizer::access_shared) && part(local, &Sanitizer::access_local) &&
         part(global, &Sanitizer::access_global);
}

Sanitizer::SharedPlace Sanitizer::place(const Warp& warp, std::uint64_t address) const {
  const auto low = static_cast<std::uint32_t>(address);
  const std::uint32_t above = low >> kClusterRankAt;
  return {above == 0 ? warp.cta->rank() : above - 1, (low & kSharedOffsetMask) - kSharedReserved};
}

bool Sanitizer::access_shared(const Current& at) {
  current_ = at;
  const Access& access = *at.access;
  const std::uint32_t warp = number(*at.warp);
  if (checks_.races && access.strong()) synchronize(at, false);
  const Viewer view = viewer(warp);
  Stamp stamp{clocks_.time(warp), index_of(*at.op), view.agent, 0, strength_of(*at.warp, access)};
  for (std::uint32_t rest = at.mask; rest != 0;) {
    const int lane = std::countr_zero(rest);
    const std::uint64_t address = (*at.addresses)[static_cast<std::size_t>(lane)];
    // Neighbours that read the same place read it as one.
    std::uint32_t lanes = 1U << lane;
    rest &= rest - 1;
    while (!access.write && rest != 0) {
      const int next = std::countr_zero(rest);
      if ((*at.addresses)[static_cast<std::size_t>(next)] != address) break;
      lanes |= 1U << next;
      rest &= rest - 1;
    }
    const auto [rank, offset] = place(*at.warp, address);
    if (checks_.initialized) {
      InitShadow& map = shared_written_[rank];
      const std::uint64_t key = std::uint64_t{rank} << 32 | offset;
      if (access.reads()) read_written(at, lanes, Space::shared, address, map, offset, key);
      if (access.write) map.mark(offset, access.bytes);
      if (stores_undefined(at, lane) != nullptr) store_undefined(at, lane, map, offset, key);
    }
    if (!checks_.races) continue;
    stamp.lane = static_cast<std::uint8_t>(lane);
    current_.owner = at.warp->cta->cluster().ctas()[rank].get();
    const bool right = access.write
                           ? cells_[rank].write(view, stamp, offset, access.bytes, *this)
                           : cells_[rank].read(view, stamp, lanes, offset, access.bytes, *this);
    if (!right) return false;
  }
  return true;
}

bool Sanitizer::access_local(const Current& at) {
  if (!checks_.initialized) return true;
  const Access& access = *at.access;
  InitShadow& map = local_written_[number(*at.warp)];
  for (std::uint32_t rest = at.mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const std::uint64_t address = (*at.addresses)[static_cast<std::size_t>(lane)];
    const std::size_t offset = static_cast<std::size_t>(lane) * context_.program->local_bytes +
                               static_cast<std::uint32_t>(address);
    const std::uint64_t key = std::uint64_t{kLocalKey + number(*at.warp)} << 32 | offset;
    if (access.reads()) read_written(at, 1U << lane, Space::local, address, map, offset, key);
    if (access.write) map.mark(offset, access.bytes);
    if (stores_undefined(at, lane) != nullptr) store_undefined(at, lane, map, offset, key);
  }
  return true;
}

bool Sanitizer::access_global(const Current& at) {
  if (!after_dependencies(at)) return false;
  if (checks_.races && at.access->strong()) synchronize(at, true);
  current_ = at;
  if (reads_inputs(at)) return true;
  for (std::uint32_t rest = at.mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    if (!check_global(at, lane, (*at.addresses)[static_cast<std::size_t>(lane)])) return false;
  }
  return true;
}

// Whether there is nothing to find: the lanes read written bytes of an allocation that the launch
// may not write to. So it is with most of what kernels read.
bool Sanitizer::reads_inputs(const Current& at) {
  if (at.access->write) return false;
  const Addresses& addresses = *at.addresses;
  const auto first = static_cast<std::size_t>(std::countr_zero(at.mask));
  const Allocation* const input = allocation_at(addresses[first]);
  if (input == nullptr || input->writable) return false;
  const InitShadow* const map = checks_.initialized ? input->written.get() : nullptr;
  const std::uint32_t bytes = at.access->bytes;
  std::uint32_t missing = 0;
  for (std::uint32_t rest = at.mask; rest != 0; rest &= rest - 1) {
    const std::uint64_t offset =
        addresses[static_cast<std::size_t>(std::countr_zero(rest))] - input->address;
    if (offset >= input->size) return false;
    if (map != nullptr) missing |= InitShadow::low(bytes) & ~map->written(offset, bytes);
  }
  return missing == 0;
}

const Allocation* Sanitizer::allocation_at(std::uint64_t address) {
  if (nearest_ == nullptr || address - nearest_->address >= nearest_->size)
    nearest_ = context_.memory->find(address);
  return nearest_;
}

bool Sanitizer::check_global(const Current& at, int lane, std::uint64_t address) {
  const Access& access = *at.access;
  const Allocation* const allocation = allocation_at(address);
  if (checks_.initialized) {
    InitShadow* const map = allocation == nullptr ? nullptr : allocation->written.get();
    if (map != nullptr) {
      const std::size_t offset = address - allocation->address;
      if (access.reads()) read_written(at, 1U << lane, Space::global, address, *map, offset, 0);
      if (access.write) map->mark(offset, access.bytes);
    }
    if (const Undefined* value = stores_undefined(at, lane)) refuse_undefined(*value);
  }
  // What the launch may not write to nobody can race for.
  const bool fixed = !access.write && allocation != nullptr && !allocation->writable;
  return !checks_.races || fixed || race_global(at, lane, address);
}

// Local memory holds structures that are copied whole, padding and all: there a value is missing
// only if none of its bytes has been written, and what a call copies is not looked at; but what was
// stored undefined is.
void Sanitizer::read_written(const Current& at, std::uint32_t lanes, Space space,
                             std::uint64_t address, const InitShadow& map, std::size_t offset,
                             std::uint64_t key) {
  const std::uint32_t bytes = at.access->bytes;
  std::uint32_t missing = InitShadow::low(bytes) & ~map.written(offset, bytes);
  if (missing == 0 || unwritten_) return;
  std::optional<std::uint16_t> origin;
  if (!stored_undefined_.empty() && space != Space::global) {
    for (std::uint32_t i = 0; i < bytes && !origin; ++i) {
      const auto stored = stored_undefined_.find(key + i);
      if ((missing >> i & 1U) != 0 && stored != stored_undefined_.end()) origin = stored->second;
    }
  }
  if (space == Space::local && !origin) {
    if (at.access->order == MemoryOrder::copy) return;
    const std::uint32_t width = value_bytes(at);
    std::uint32_t whole = 0;
    for (std::uint32_t i = 0; i + width <= bytes; i += width) {
      const std::uint32_t value = InitShadow::low(width) << i;
      if ((missing & value) == value) whole |= value;
    }
    missing = whole;
    if (missing == 0) return;
  }
  const auto describe = [&] {
    return describe_unwritten(at, std::countr_zero(lanes), space, address,
                              map.missing(offset, bytes));
  };
  if (space == Space::global || !follows(at)) {
    unwritten_ = origin ? unwritten_loads_[*origin].diagnostic : describe();
    return;
  }
  if (!origin) origin = origin_of(at, describe);
  std::vector<Undefined>& values = undefined_[number(*at.warp)];
  if (values.empty())
    values.resize(std::size_t{context_.program->slots} + context_.program->predicates + 2);
  load_undefined(at, lanes, missing, *origin);
}

// Whether a store writes what is there already; compute-sanitizer calls such a race harmless too.
bool Sanitizer::is_benign(const Conflict& conflict) {
  const Current& at = current_;
  if (conflict.writes && conflict.before_writes && conflict.before.time != Stamp::kUnfinished &&
      conflict.before.agent < clocks_.warps() && !at.asynchronous) {
    const auto lane = static_cast<int>(conflict.lane);
    const int before = conflict.before.lane;
    const std::uint64_t own = (*at.addresses)[conflict.lane];
    const bool same_instruction = conflict.before.agent == number(*at.warp) &&
                                  conflict.before.op == index_of(*at.op) && before < lane &&
                                  (at.mask >> before & 1U) != 0 &&
                                  (*at.addresses)[static_cast<std::size_t>(before)] == own;
    const std::size_t skip = conflict.offset - place(*at.warp, own).offset;
    if (same_bytes(at, lane, before, same_instruction, at.owner->shared().data() + conflict.offset,
                   skip, conflict.bytes)) {
      return true;
    }
  }
  report_race(conflict);
  return false;
}

bool Sanitizer::same_bytes(const Current& at, int lane, int before_lane, bool same_instruction,
                           const std::byte* memory, std::size_t skip, std::size_t bytes) const {
  if (!at.access->by_registers || at.access->order != MemoryOrder::plain) return false;
  const auto stored = stored_bytes(*at.warp, *at.op, lane);
  if (same_instruction) {
    const auto before = stored_bytes(*at.warp, *at.op, before_lane);
    return std::memcmp(stored.data() + skip, before.data() + skip, bytes) == 0;
  }
  return std::memcmp(stored.data() + skip, memory, bytes) == 0;
}

Viewer Sanitizer::viewer(std::uint32_t warp) const {
  return {static_cast<std::uint16_t>(warp), &clocks_.view(warp), false, clocks_.warps()};
}

}  // namespace fa_tune::emulator
