#include <bit>
#include <cstring>

#include "engine/device/emulator/memory/address_resolution.hpp"
#include "engine/device/emulator/memory/memory_ops.hpp"
#include "engine/device/emulator/sanitizer/sanitizer.hpp"

// ld and st, clock registers, isspacep. Fields as in access.hpp.

namespace fa_tune::emulator {
namespace {

Access access_of(const Op& op, bool write) {
  return {.space = static_cast<Space>(op.m[0]),
          .bytes = op.m[1],
          .write = write,
          .order = order_in(op.m[6]),
          .scope = scope_in(op.m[6])};
}

// One value of E a lane to a register of words W: extended by E's sign.
template <class W, class E>
void gather(const Pointers& pointers, std::size_t offset, std::uint32_t mask, W* out) {
  const auto load = [&](std::size_t lane) {
    E value;
    std::memcpy(&value, pointers[lane] + offset, sizeof(E));
    out[lane] = static_cast<W>(static_cast<std::int64_t>(value));
  };
  if (mask == kFullMask) {  // by far the most: without a test a lane
    for (std::size_t lane = 0; lane < kWarpSize; ++lane) load(lane);
    return;
  }
  for (std::size_t lane = 0; lane < kWarpSize; ++lane) {
    if ((mask >> lane & 1U) != 0) load(lane);
  }
}

template <class W>
void gather_as(Type type, const Pointers& pointers, std::size_t offset, std::uint32_t mask,
               W* out) {
  switch (size_of(type)) {
    case 1:
      if (is_signed(type)) return gather<W, std::int8_t>(pointers, offset, mask, out);
      return gather<W, std::uint8_t>(pointers, offset, mask, out);
    case 2:
      if (type == Type::s16) return gather<W, std::int16_t>(pointers, offset, mask, out);
      return gather<W, std::uint16_t>(pointers, offset, mask, out);
    case 4:
      if (type == Type::s32) return gather<W, std::int32_t>(pointers, offset, mask, out);
      return gather<W, std::uint32_t>(pointers, offset, mask, out);
    default:
      return gather<W, std::uint64_t>(pointers, offset, mask, out);
  }
}

template <class W, class E>
void scatter(const W* values, const Pointers& pointers, std::size_t offset, std::uint32_t mask) {
  for (std::size_t lane = 0; lane < kWarpSize; ++lane) {
    if ((mask >> lane & 1U) == 0) continue;
    const E value = static_cast<E>(values[lane]);
    std::memcpy(pointers[lane] + offset, &value, sizeof(E));
  }
}

template <class W>
void scatter_as(int bytes, const W* values, const Pointers& pointers, std::size_t offset,
                std::uint32_t mask) {
  switch (bytes) {
    case 1:
      return scatter<W, std::uint8_t>(values, pointers, offset, mask);
    case 2:
      return scatter<W, std::uint16_t>(values, pointers, offset, mask);
    case 4:
      return scatter<W, std::uint32_t>(values, pointers, offset, mask);
    default:
      return scatter<W, std::uint64_t>(values, pointers, offset, mask);
  }
}

// Whether it is made so that what another block writes is seen.
bool looks_elsewhere(const Op& op) {
  const MemoryOrder order = order_in(op.m[6]);
  return (order == MemoryOrder::strong || order == MemoryOrder::acquiring) &&
         (static_cast<Space>(op.m[0]) == Space::global ||
          static_cast<Space>(op.m[0]) == Space::generic);
}

// What lanes of `mask` have just loaded, and from where, as one number.
std::uint64_t poll_hash(const LaneFile& lanes, const Op& op, std::uint32_t mask,
                        const Addresses& addresses) {
  PollHash found(mask);
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    found.add(addresses[static_cast<std::size_t>(lane)]);
    for (std::size_t i = 0; i < op.m[4]; ++i) {
      if (op.r[i] == kNoOperand) continue;
      found.add(op.m[5] == 8 ? std::uint64_t{slot64(lanes, op.r[i])[lane]}
                             : slot(lanes, op.r[i])[lane]);
    }
  }
  return found.value();
}

// Where a full warp's words lie in one stretch of memory: the common case by far, tested for all
// lanes at once in loops that become vector code. `memory` is null where the case is another.
struct Words {
  std::byte* memory = nullptr;
  std::uint32_t offsets[kWarpSize];
};

void find_words(const Warp& warp, const Op& op, std::uint32_t mask, bool write, Words& words) {
  if (mask != kFullMask || op.m[2] == 0 || op.m[5] != 4) return;
  if (size_of(static_cast<Type>(op.m[3])) != 4) return;
  if (warp.cta->counters() != nullptr || warp.cta->sanitizer() != nullptr) return;
  if (!write && looks_elsewhere(op)) return;
  const auto space = static_cast<Space>(op.m[0]);
  std::byte* memory = nullptr;
  std::uint64_t begin = kSharedReserved;
  std::uint64_t size = 0;
  if (space == Space::shared) {
    const std::span<std::byte> shared = warp.cta->shared();
    memory = shared.data();
    size = shared.size();
  } else if (space == Space::global || space == Space::generic) {
    const Allocation* allocation = warp.cta->last_allocation;
    if (allocation == nullptr || (write && !allocation->writable)) return;
    memory = allocation->bytes;
    begin = allocation->address;
    size = allocation->size;
  }
  const std::uint32_t bytes = op.m[1];
  if (size < bytes || size > UINT32_MAX) return;
  const auto last = static_cast<std::uint32_t>(size) - bytes;
  const std::uint64_t shift = static_cast<std::uint64_t>(op.immediate) - begin;
  std::uint32_t wrong = 0;
  if (op.m[2] == 8) {
    const Word64* base = slot64(warp, op.r[8]);
    for (int lane = 0; lane < kWarpSize; ++lane) {
      const std::uint64_t offset = base[lane] + shift;
      words.offsets[lane] = static_cast<std::uint32_t>(offset);
      wrong |= static_cast<std::uint32_t>(offset >> 32);
    }
  } else {
    const std::uint32_t* base = slot(warp, op.r[8]);
    for (int lane = 0; lane < kWarpSize; ++lane) {
      words.offsets[lane] = base[lane] + static_cast<std::uint32_t>(shift);
    }
    if (space != Space::shared) return;
  }
  // All these stretches begin at a multiple of 16.
  for (const std::uint32_t offset : words.offsets) {
    wrong |= static_cast<std::uint32_t>(offset > last) | (offset & (bytes - 1));
  }
  if (wrong == 0) words.memory = memory;
}

}  // namespace

void run_load(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  Warp& warp = warp_of(lanes);
  Words words;
  find_words(warp, op, mask, false, words);
  if (words.memory != nullptr) {
    for (std::size_t i = 0; i < op.m[4]; ++i) {
      if (op.r[i] == kNoOperand) continue;
      std::uint32_t loaded[kWarpSize];
      for (std::size_t lane = 0; lane < kWarpSize; ++lane) {
        std::memcpy(&loaded[lane], words.memory + words.offsets[lane] + 4 * i, 4);
      }
      std::memcpy(target_slot(lanes, op.r[i]), loaded, sizeof(loaded));
    }
    return;
  }
  Access access = access_of(op, false);
  access.by_registers = true;
  Addresses addresses;
  Pointers pointers;
  if (!reach(warp, op, mask, access, addresses, pointers)) return;
  const auto type = static_cast<Type>(op.m[3]);
  const auto step = static_cast<std::size_t>(size_of(type));
  for (std::size_t i = 0; i < op.m[4]; ++i) {
    if (op.r[i] == kNoOperand) continue;
    if (op.m[5] == 8) {
      gather_as(type, pointers, i * step, mask, target_slot64(lanes, op.r[i]));
      continue;
    }
    std::uint32_t* out = target_slot(lanes, op.r[i]);
    gather_as(type, pointers, i * step, mask, out);
    if (op.m[5] == 2 && is_signed(type) && step == 1) {  // s8 to 16 bits: the rest stays zero
      for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        out[std::countr_zero(rest)] &= 0xffffU;
      }
    }
    if (op.m[5] == 2 && type == Type::s16) {
      for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        out[std::countr_zero(rest)] &= 0xffffU;
      }
    }
  }
  if (looks_elsewhere(op) && is_global(addresses, mask))
    note_poll(warp, op, poll_hash(lanes, op, mask, addresses));
}

void run_store(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  Warp& warp = warp_of(lanes);
  Words words;
  find_words(warp, op, mask, true, words);
  if (words.memory != nullptr) {
    for (std::size_t lane = 0; lane < kWarpSize; ++lane) {
      std::byte* to = words.memory + words.offsets[lane];
      for (std::size_t i = 0; i < op.m[4]; ++i) {
        std::memcpy(to + 4 * i, slot(lanes, op.r[i]) + lane, 4);
      }
    }
    return;
  }
  Access access = access_of(op, true);
  access.by_registers = true;
  Addresses addresses;
  Pointers pointers;
  if (!reach(warp, op, mask, access, addresses, pointers)) return;
  const int bytes = size_of(static_cast<Type>(op.m[3]));
  for (std::size_t i = 0; i < op.m[4]; ++i) {
    const std::size_t offset = i * static_cast<std::size_t>(bytes);
    if (op.m[5] == 8) {
      scatter_as(bytes, slot64(lanes, op.r[i]), pointers, offset, mask);
    } else {
      scatter_as(bytes, slot(lanes, op.r[i]), pointers, offset, mask);
    }
  }
}

void run_fence(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  const Warp& warp = warp_of(lanes);
  Sanitizer* const sanitizer = warp.cta->sanitizer();
  if (sanitizer == nullptr) return;
  switch (static_cast<FenceKind>(op.m[0])) {
    case FenceKind::memory:
      sanitizer->fence(warp, mask, static_cast<MemoryScope>(op.m[1]));
      return;
    case FenceKind::proxy:
      for (const ProxySpace space : {ProxySpace::shared, ProxySpace::global}) {
        const bool named = (op.m[1] >> static_cast<unsigned>(space) & 1U) != 0;
        if (named) sanitizer->fence_proxy(warp, mask, space);
      }
      return;
    case FenceKind::made:
      sanitizer->fence_made(warp, mask);
      return;
    default:
      return;
  }
}

// The grids before have ended: launches run one after the other here.
void run_wait_dependencies(LaneFile& lanes, const Op&, std::uint32_t mask) {
  const Warp& warp = warp_of(lanes);
  if (Sanitizer* const sanitizer = warp.cta->sanitizer()) sanitizer->wait_dependencies(warp, mask);
}

// Time as a kernel sees it here: warp instructions of its CTA. m[0]: its bits from here on; m[5]:
// bytes of the target.
void run_clock(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  const std::uint64_t now = warp_of(lanes).cta->executed() >> op.m[0];
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    if (op.m[5] == 8) {
      target_slot64(lanes, op.r[0])[lane] = now;
    } else {
      target_slot(lanes, op.r[0])[lane] = static_cast<std::uint32_t>(now);
    }
  }
}

void run_isspacep(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  const Word64* addresses = slot64(lanes, op.r[1]);
  std::uint32_t holds = 0;
  for (std::uint32_t lane = 0; lane < kWarpSize; ++lane) {
    const std::uint64_t address = addresses[lane];
    bool is = false;
    switch (static_cast<Space>(op.m[0])) {
      case Space::shared:
        is = in_window(address, kSharedWindow) && (address - kSharedWindow) >> kClusterRankAt == 0;
        break;
      case Space::cluster:
        is = in_window(address, kSharedWindow);
        break;
      case Space::local:
        is = in_window(address, kLocalWindow);
        break;
      case Space::param:
        is = in_window(address, kParamWindow);
        break;
      default:
        is = address >= kGlobalBegin;
        break;
    }
    holds |= static_cast<std::uint32_t>(is) << lane;
  }
  std::uint32_t& word = lanes.predicates[op.r[0]];
  word = (word & ~mask) | (holds & mask);
}

void run_nothing(LaneFile&, const Op&, std::uint32_t) {}

}  // namespace fa_tune::emulator
