#include "engine/device/emulator/shadow/global_shadow.hpp"

#include <algorithm>
#include <utility>

namespace fa_tune::emulator {
namespace {

std::uint16_t bits_of(std::uint64_t address, std::uint32_t bytes) {
  return static_cast<std::uint16_t>(((1U << bytes) - 1U) << (address % 16));
}

void set_threads(std::array<std::uint16_t, 4>& threads, std::uint16_t bytes, std::uint16_t thread) {
  for (std::size_t i = 0; i < threads.size(); ++i) {
    if ((bytes >> (4 * i) & 0xf) != 0) threads[i] = thread;
  }
}

}  // namespace

GlobalConflict GlobalShadow::conflict_with(const Part& part, bool writes, std::uint64_t address) {
  GlobalConflict conflict{part.stamp, writes, address};
  conflict.before.thread = part.threads[address % kChunk / 4];
  return conflict;
}

void GlobalShadow::enter(std::uint32_t actor) {
  actor_ = actor;
  const auto found = aside_.find(actor);
  own_ = found == aside_.end() ? Own() : std::move(found->second);
  if (found != aside_.end()) aside_.erase(found);
}

void GlobalShadow::put_aside() { aside_[actor_] = std::exchange(own_, {}); }

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

bool GlobalShadow::ordered(const GlobalStamp& before) const {
  if (before.actor == actor_) return true;
  const auto found = own_.known.find(before.actor);
  return found != own_.known.end() && before.time <= found->second;
}

// Bytes that an actor accesses again are known by their last time. Where no part is free, the
// actor's other part takes them at its own, earlier time; else another actor is forgotten.
void GlobalShadow::record(std::array<Part, 2>& parts, const GlobalStamp& stamp,
                          std::uint16_t bytes) {
  Part* own = nullptr;
  Part* free = nullptr;
  for (Part& part : parts) {
    if (part.bytes != 0 && part.stamp.actor == stamp.actor) {
      if (part.stamp.time == stamp.time) {
        const bool strong = stamp.strong && (part.stamp.strong || (part.bytes & ~bytes) == 0);
        part.bytes = static_cast<std::uint16_t>(part.bytes | bytes);
        part.stamp = stamp;
        part.stamp.strong = strong;
        set_threads(part.threads, bytes, stamp.thread);
        return;
      }
      part.bytes = static_cast<std::uint16_t>(part.bytes & ~bytes);
      own = &part;
    }
    if (part.bytes == 0) free = &part;
  }
  if (free != nullptr) {
    *free = {stamp, bytes, {}};
    set_threads(free->threads, bytes, stamp.thread);
  } else if (own != nullptr) {
    own->bytes = static_cast<std::uint16_t>(own->bytes | bytes);
    own->stamp.strong = own->stamp.strong && stamp.strong;
    set_threads(own->threads, bytes, stamp.thread);
  } else {
    parts[0] = parts[1];
    parts[1] = {stamp, bytes, {}};
    set_threads(parts[1].threads, bytes, stamp.thread);
  }
}

bool GlobalShadow::read(std::uint64_t address, std::uint32_t bytes, const GlobalStamp& stamp,
                        GlobalConflict& conflict) {
  Chunk& cell = at(address);
  const std::uint16_t mask = bits_of(address, bytes);
  bool right = true;
  for (const Part& part : cell.writes) {
    if ((part.bytes & mask) == 0 || ordered(part.stamp)) continue;
    if (stamp.strong && part.stamp.strong) continue;
    conflict = conflict_with(part, true, address);
    right = false;
  }
  std::uint16_t shared = 0;
  std::uint16_t weakly = 0;
  for (const Part& part : cell.reads) {
    if (part.stamp.actor == stamp.actor) continue;
    shared = static_cast<std::uint16_t>(shared | (part.bytes & mask));
    if (!(part.stamp.strong && stamp.strong)) {
      weakly = static_cast<std::uint16_t>(weakly | (part.bytes & mask));
    }
  }
  if (shared != 0) {
    cell.read_by_many = static_cast<std::uint16_t>(cell.read_by_many | shared);
    cell.read_weakly_by_many = static_cast<std::uint16_t>(cell.read_weakly_by_many | weakly);
    cell.many = stamp;
  }
  const auto own = static_cast<std::uint16_t>(mask & ~cell.read_by_many);
  if (own != 0) record(cell.reads, stamp, own);
  return right;
}

bool GlobalShadow::write(std::uint64_t address, std::uint32_t bytes, const GlobalStamp& stamp,
                         GlobalConflict& conflict) {
  Chunk& cell = at(address);
  const std::uint16_t mask = bits_of(address, bytes);
  bool right = true;
  const auto meets = [&](const std::array<Part, 2>& parts, bool writes) {
    for (const Part& part : parts) {
      if ((part.bytes & mask) == 0 || ordered(part.stamp)) continue;
      if (stamp.strong && part.stamp.strong) continue;
      conflict = conflict_with(part, writes, address);
      right = false;
    }
  };
  meets(cell.reads, false);
  meets(cell.writes, true);
  const std::uint16_t many = stamp.strong ? cell.read_weakly_by_many : cell.read_by_many;
  // A kernel that orders its CTAs may order all who read; who they were is no longer known.
  if (right && (many & mask) != 0 && cell.many.actor != actor_ && own_.known.empty()) {
    conflict = {cell.many, false, address};
    right = false;
  }
  // An unordered reader of the old write would also race with this one, so the old write need not
  // be kept.
  for (Part& part : cell.writes) {
    if (part.stamp.actor != actor_) part.bytes = static_cast<std::uint16_t>(part.bytes & ~mask);
  }
  record(cell.writes, stamp, mask);
  return right;
}

void GlobalShadow::fence() { own_.fenced = own_.time++; }

void GlobalShadow::publish(std::uint64_t address, bool releases) {
  if (releases) fence();
  if (own_.fenced == 0) return;
  Times& times = published_[address];
  for (const auto& [actor, time] : own_.known) times[actor] = std::max(times[actor], time);
  times[actor_] = std::max(times[actor_], own_.fenced);
}

void GlobalShadow::learn(std::uint64_t address) {
  const auto found = published_.find(address);
  if (found == published_.end()) return;
  for (const auto& [actor, time] : found->second) {
    if (actor != actor_) own_.known[actor] = std::max(own_.known[actor], time);
  }
}

}  // namespace fa_tune::emulator
