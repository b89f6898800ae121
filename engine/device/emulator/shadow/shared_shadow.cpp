#include "engine/device/emulator/shadow/shared_shadow.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace fa_tune::emulator {
namespace {

// The same where not all lanes of the viewer know of it.
[[gnu::noinline]] bool known_to_lanes(const Viewer& viewer, const Stamp& before,
                                      std::uint32_t before_lanes, std::uint32_t lanes,
                                      bool before_writes, bool writes) {
  const bool own = before.agent == viewer.agent && before.time != Stamp::kUnfinished &&
                   before_lanes == lanes && std::has_single_bit(lanes);
  if (own) return true;
  const auto covers = [&](const Horizon& horizon) {
    return horizon.here.covers(before.agent, before.time, before_lanes);
  };
  // To write over what has been read, or what a copy wrote that has been seen to end, it is enough
  // to know of the reading.
  const bool was_read = writes && (!before_writes || before.agent >= viewer.warps);
  return viewer.view->all_know(lanes, [&](const Clock& clock) {
    return covers(clock.known) || (was_read && covers(clock.read));
  });
}

// Whether what `before_lanes` did comes before what each of `lanes` does now.
bool ordered(const Viewer& viewer, const Stamp& before, std::uint32_t before_lanes,
             std::uint32_t lanes, bool before_writes, bool writes) {
  if (!viewer.view->alike.known.here.covers(before.agent, before.time, before_lanes) &&
      !known_to_lanes(viewer, before, before_lanes, lanes, before_writes, writes)) {
    return false;
  }
  if (!viewer.by_proxy || !before_writes || before.agent >= viewer.warps) return true;
  constexpr auto kShared = static_cast<std::size_t>(ProxySpace::shared);
  return viewer.view->all_know(lanes, [&](const Clock& clock) {
    return clock.proxied[kShared].here.covers(before.agent, before.time, before_lanes);
  });
}

}  // namespace

SharedShadow::SharedShadow(std::size_t bytes, std::uint32_t readers)
    : slots_(std::bit_ceil(std::clamp(readers, 1U, 64U))) {
  const std::size_t count = (bytes + kChunk - 1) / kChunk;
  chunks_.cells.resize(count);
  chunks_.reads.resize(count * slots_);
}

bool SharedShadow::read_cell(const Viewer& viewer, const Stamp& stamp, std::uint32_t lanes,
                             const Place& place, RaceFilter& filter) {
  Cell& cell = place.cells->cells[place.index];
  const std::uint32_t writer = 1U << cell.write.lane;
  if (!ordered(viewer, cell.write, writer, lanes, true, false) &&
      !stamp.strength.with(cell.write.strength)) {
    const bool own = cell.write.agent == viewer.agent && (lanes & ~writer) != 0;
    const auto lane =
        own ? static_cast<std::uint32_t>(std::countr_zero(lanes & ~writer)) : stamp.lane;
    if (!filter.is_benign({cell.write, true, false, lane, place.offset, place.bytes})) return false;
  }
  const std::size_t slot = slot_of(stamp.agent, place);
  const std::uint64_t bit = std::uint64_t{1} << slot;
  Read& read = place.cells->reads[place.index * slots_ + slot];
  if ((cell.readers & bit) != 0 && read.stamp.time == stamp.time &&
      read.stamp.agent == stamp.agent) {
    const Strength weaker = stamp.strength.weaker(read.stamp.strength);
    read.stamp = stamp;
    read.stamp.strength = weaker;
    read.lanes |= lanes;
  } else {
    read = {stamp, lanes};
    cell.readers |= bit;
  }
  return true;
}

std::size_t SharedShadow::slot_of(std::uint16_t agent, const Place& place) const {
  const std::uint64_t used = place.cells->cells[place.index].readers;
  const Read* const reads = &place.cells->reads[place.index * slots_];
  const std::size_t first = agent & (slots_ - 1);
  for (std::size_t slot = first;;) {
    if ((used >> slot & 1U) == 0 || reads[slot].stamp.agent == agent) return slot;
    slot = (slot + 1) & (slots_ - 1);
    if (slot == first) return first;
  }
}

bool SharedShadow::check_write(const Viewer& viewer, const Stamp& stamp, const Place& place,
                               RaceFilter& filter) {
  const Cell& cell = place.cells->cells[place.index];
  if (!ordered(viewer, cell.write, 1U << cell.write.lane, 1U << stamp.lane, true, true) &&
      !stamp.strength.with(cell.write.strength) &&
      !filter.is_benign({cell.write, true, true, stamp.lane, place.offset, place.bytes})) {
    return false;
  }
  for (std::uint64_t rest = cell.readers; rest != 0; rest &= rest - 1) {
    const Read& read =
        place.cells->reads[place.index * slots_ + static_cast<std::size_t>(std::countr_zero(rest))];
    if (ordered(viewer, read.stamp, read.lanes, 1U << stamp.lane, false, true) ||
        stamp.strength.with(read.stamp.strength)) {
      continue;
    }
    Conflict conflict{read.stamp, false, true, stamp.lane, place.offset, place.bytes};
    const std::uint32_t others = read.lanes & ~(1U << stamp.lane);
    conflict.before.lane =
        static_cast<std::uint8_t>(std::countr_zero(others != 0 ? others : read.lanes));
    if (!filter.is_benign(conflict)) return false;
  }
  return true;
}

template <class Act>
bool SharedShadow::each_cell(std::size_t offset, std::size_t bytes, Act&& act) {
  if (bytes < unit_) narrow(bytes);
  if (bytes < kChunk) {
    const std::size_t index = offset / kChunk;
    if (!chunks_.cells[index].parted) part(index);
    for (std::size_t at = offset; at < offset + bytes; at += unit_) {
      if (!act(Place{&parts_, at / unit_, at, unit_})) return false;
    }
    return true;
  }
  for (std::size_t at = offset; at < offset + bytes; at += kChunk) {
    const std::size_t index = at / kChunk;
    if (!chunks_.cells[index].parted) {
      if (!act(Place{&chunks_, index, at, kChunk})) return false;
      continue;
    }
    for (std::size_t inner = at; inner < at + kChunk; inner += unit_) {
      if (!act(Place{&parts_, inner / unit_, inner, unit_})) return false;
    }
  }
  return true;
}

bool SharedShadow::read(const Viewer& viewer, const Stamp& stamp, std::uint32_t lanes,
                        std::size_t offset, std::size_t bytes, RaceFilter& filter) {
  return each_cell(offset, bytes, [&](const Place& place) {
    return read_cell(viewer, stamp, lanes, place, filter);
  });
}

bool SharedShadow::write(const Viewer& viewer, const Stamp& stamp, std::size_t offset,
                         std::size_t bytes, RaceFilter& filter) {
  const bool right = each_cell(offset, bytes, [&](const Place& place) {
    if (!check_write(viewer, stamp, place, filter)) return false;
    Cell& cell = place.cells->cells[place.index];
    cell.write = stamp;
    cell.readers = 0;
    return true;
  });
  if (!right) return false;
  // Whole chunks that were in parts are whole again.
  if (bytes >= kChunk) {
    for (std::size_t index = offset / kChunk; index < (offset + bytes) / kChunk; ++index) {
      Cell& cell = chunks_.cells[index];
      if (cell.parted) cell = {stamp, false, 0};
    }
  }
  return true;
}

void SharedShadow::finish(const Stamp& stamp, const Stamp& done, std::size_t offset,
                          std::size_t bytes) {
  each_cell(offset, bytes, [&](const Place& place) {
    Stamp& write = place.cells->cells[place.index].write;
    const bool same = write.time == stamp.time && write.op == stamp.op &&
                      write.agent == stamp.agent && write.lane == stamp.lane;
    if (same) write = done;
    return true;
  });
}

void SharedShadow::narrow(std::size_t unit) {
  const std::size_t bytes = chunks_.cells.size() * kChunk;
  Cells finer;
  finer.cells.resize(bytes / unit);
  finer.reads.resize(bytes / unit * slots_);
  std::swap(parts_, finer);
  const std::size_t before = std::exchange(unit_, unit);
  if (before == kChunk) return;
  for (std::size_t i = 0; i < parts_.cells.size(); ++i) {
    const std::size_t from = i * unit / before;
    parts_.cells[i] = finer.cells[from];
    for (std::size_t slot = 0; slot < slots_; ++slot) {
      parts_.reads[i * slots_ + slot] = finer.reads[from * slots_ + slot];
    }
  }
}

void SharedShadow::part(std::size_t index) {
  Cell& whole = chunks_.cells[index];
  whole.parted = true;
  for (std::size_t i = index * kChunk / unit_; i < (index + 1) * kChunk / unit_; ++i) {
    parts_.cells[i].write = whole.write;
    parts_.cells[i].readers = whole.readers;
    for (std::uint64_t rest = whole.readers; rest != 0; rest &= rest - 1) {
      const auto slot = static_cast<std::size_t>(std::countr_zero(rest));
      parts_.reads[i * slots_ + slot] = chunks_.reads[index * slots_ + slot];
    }
  }
}

}  // namespace fa_tune::emulator
