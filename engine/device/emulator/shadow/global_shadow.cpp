#include "engine/device/emulator/shadow/global_shadow.hpp"

#include <bit>

namespace fa_tune::emulator {
namespace {

std::uint16_t bits_of(std::uint64_t address, std::uint32_t bytes) {
  return static_cast<std::uint16_t>(((1U << bytes) - 1U) << (address % 16));
}

std::uint16_t without(std::uint16_t bytes, std::uint16_t taken) {
  return static_cast<std::uint16_t>(bytes & ~taken);
}

MemoryScope least_scope(const GlobalStamp& a, const GlobalStamp& b) {
  if (a.cluster != b.cluster) return MemoryScope::gpu;
  return a.strength.cta() == b.strength.cta() ? MemoryScope::cta : MemoryScope::cluster;
}

bool strong_together(const GlobalStamp& a, const GlobalStamp& b) {
  return a.strength.with(b.strength, least_scope(a, b));
}

// The order of a CTA's threads is not looked at.
bool within_cta(const GlobalStamp& a, const GlobalStamp& b) {
  return a.same_cta(b) && !a.asynchronous && !b.asynchronous;
}

// The lanes whose bytes are among `bytes`.
template <class Part>
std::uint32_t lanes_of(const Part& part, std::uint16_t bytes) {
  std::uint32_t lanes = 0;
  for (std::uint32_t rest = bytes; rest != 0; rest &= rest - 1) {
    lanes |= 1U << part.lanes[static_cast<std::size_t>(std::countr_zero(rest))];
  }
  return lanes;
}

// Fills `conflict` and returns true if a lane's access to some of `bytes` is not ordered before the
// one of `stamp`.
template <class Part>
bool conflicts(const Part& part, std::uint16_t bytes, bool writes, const GlobalStamp& stamp,
               const GlobalOrder& order, std::uint64_t address, GlobalConflict& conflict) {
  const auto both = static_cast<std::uint16_t>(part.bytes & bytes);
  if (both == 0 || within_cta(part.stamp, stamp) || strong_together(part.stamp, stamp)) {
    return false;
  }
  for (std::uint32_t rest = lanes_of(part, both); rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(rest));
    if (order.ordered(part.stamp, lane, writes)) continue;
    conflict = {part.stamp, lane, writes, address};
    return true;
  }
  return false;
}

// Bytes that a CTA accesses again are known by their last time. Where no part is free, one of the
// CTA's own is forgotten, else another's.
template <class Parts>
void record(Parts& parts, const GlobalStamp& stamp, std::uint32_t lane, std::uint16_t bytes) {
  using Part = typename Parts::value_type;
  Part* chosen = nullptr;
  Part* own = nullptr;
  for (Part& part : parts) {
    if (part.bytes != 0 && part.stamp.same_moment(stamp)) {
      const bool whole = without(part.bytes, bytes) == 0;
      const Strength strength = whole ? stamp.strength : stamp.strength.weaker(part.stamp.strength);
      part.stamp = stamp;
      part.stamp.strength = strength;
      chosen = &part;
      break;
    }
    if (part.bytes != 0 && part.stamp.same_cta(stamp)) {
      part.bytes = without(part.bytes, bytes);
      own = &part;
    }
  }
  if (chosen == nullptr) {
    for (Part& part : parts) {
      if (part.bytes == 0) chosen = &part;
    }
    if (chosen == nullptr) chosen = own != nullptr ? own : &parts[stamp.time % parts.size()];
    *chosen = {stamp, 0, {}};
  }
  chosen->bytes = static_cast<std::uint16_t>(chosen->bytes | bytes);
  for (std::uint32_t rest = bytes; rest != 0; rest &= rest - 1) {
    chosen->lanes[static_cast<std::size_t>(std::countr_zero(rest))] =
        static_cast<std::uint8_t>(lane);
  }
}

}  // namespace

GlobalShadow::Chunk& GlobalShadow::at(std::uint64_t address) {
  const std::uint64_t number = address / (kChunk * kChunksAPage);
  if (number != last_number_) {
    std::unique_ptr<Page>& page = pages_[number];
    if (!page) page = std::make_unique<Page>();
    last_ = page.get();
    last_number_ = number;
  }
  return (*last_)[address / kChunk % kChunksAPage];
}

bool GlobalShadow::read(std::uint64_t address, std::uint32_t bytes, const GlobalStamp& stamp,
                        std::uint32_t lane, const GlobalOrder& order, GlobalConflict& conflict) {
  Chunk& cell = at(address);
  const std::uint16_t mask = bits_of(address, bytes);
  bool right = true;
  if ((cell.written & mask) != 0) {
    for (const Part& part : cell.writes) {
      if (conflicts(part, mask, true, stamp, order, address, conflict)) right = false;
    }
  }
  std::uint16_t shared = 0;
  std::uint16_t weakly = 0;
  for (const Part& part : cell.reads) {
    if (part.stamp.same_cta(stamp)) continue;
    const auto both = static_cast<std::uint16_t>(part.bytes & mask);
    shared = static_cast<std::uint16_t>(shared | both);
    if (!strong_together(part.stamp, stamp)) weakly = static_cast<std::uint16_t>(weakly | both);
  }
  if (shared != 0) {
    cell.read_by_many = static_cast<std::uint16_t>(cell.read_by_many | shared);
    cell.read_weakly_by_many = static_cast<std::uint16_t>(cell.read_weakly_by_many | weakly);
    cell.many = stamp;
  }
  const std::uint16_t own = without(mask, cell.read_by_many);
  if (own != 0) record(cell.reads, stamp, lane, own);
  return right;
}

bool GlobalShadow::write(std::uint64_t address, std::uint32_t bytes, const GlobalStamp& stamp,
                         std::uint32_t lane, const GlobalOrder& order, GlobalConflict& conflict) {
  Chunk& cell = at(address);
  const std::uint16_t mask = bits_of(address, bytes);
  bool right = true;
  for (const Part& part : cell.reads) {
    if (conflicts(part, mask, false, stamp, order, address, conflict)) right = false;
  }
  for (const Part& part : cell.writes) {
    if (conflicts(part, mask, true, stamp, order, address, conflict)) right = false;
  }
  const bool strong = stamp.strength.scope() != MemoryScope::none;
  const std::uint16_t many = strong ? cell.read_weakly_by_many : cell.read_by_many;
  // A kernel that orders its CTAs may order all who read; who they were is no longer known.
  if (right && (many & mask) != 0 && !cell.many.same_cta(stamp) && !order.knows_others()) {
    conflict = {cell.many, 0, false, address};
    right = false;
  }
  // An unordered reader of the old write would also race with this one, so the old write need not
  // be kept.
  for (Part& part : cell.writes) {
    if (!part.stamp.same_moment(stamp)) part.bytes = without(part.bytes, mask);
  }
  record(cell.writes, stamp, lane, mask);
  cell.written = static_cast<std::uint16_t>(cell.written | mask);
  return right;
}

void GlobalShadow::publish(std::uint64_t address, std::uint32_t cluster, const Clock& clock) {
  const auto with_own = [&](const Horizon& horizon) {
    BeyondPointer all = horizon.beyond;
    auto own = std::make_shared<const Reach>(horizon.here);
    join(all, std::make_shared<const Beyond>(Beyond{{cluster, std::move(own)}}));
    return all;
  };
  Published& place = published_[address];
  join(place.known, with_own(clock.known));
  const Horizon& proxied = clock.proxied[static_cast<std::size_t>(ProxySpace::global)];
  if (!proxied.empty()) join(place.proxied, with_own(proxied));
}

const GlobalShadow::Published* GlobalShadow::published(std::uint64_t address) const {
  const auto found = published_.find(address);
  return found == published_.end() ? nullptr : &found->second;
}

}  // namespace fa_tune::emulator
