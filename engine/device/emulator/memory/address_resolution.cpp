#include "engine/device/emulator/memory/address_resolution.hpp"

#include <algorithm>
#include <bit>
#include <ranges>
#include <span>

#include <fmt/format.h>

#include "engine/device/emulator/memory/shared_wavefronts.hpp"
#include "engine/device/emulator/sanitizer/sanitizer.hpp"
#include "engine/device/emulator/state/cluster.hpp"
#include "engine/device/emulator/target/profile.hpp"

namespace fa_tune::emulator {

void note_poll(Warp& warp, const Op& op, std::uint64_t found) {
  const Op* const first = warp.cta->context().program->ops.data();
  warp.polls.note(static_cast<std::uint32_t>(&op - first), found);
}
namespace {

// A generic address's space, and the address within it.
Space space_of(std::uint64_t& address) {
  if (in_window(address, kSharedWindow)) {
    address -= kSharedWindow;
    return Space::cluster;
  }
  if (in_window(address, kLocalWindow)) {
    address -= kLocalWindow;
    return Space::local;
  }
  return in_window(address, kParamWindow) ? Space::param : Space::global;
}

// The allocation that holds the byte at a global address, or none.
const Allocation* allocation_at(Cta& cta, std::uint64_t address) {
  const Allocation* const last = cta.last_allocation;
  if (last != nullptr && address - last->address < last->size) return last;
  const Allocation* const found = cta.context().memory->find(address);
  if (found != nullptr) cta.last_allocation = found;
  return found;
}

class Resolver {
 public:
  Resolver(Warp& warp, const Op& op, const Access& access)
      : warp_(warp), cta_(*warp.cta), op_(op), access_(access) {}

  // Null after a report.
  std::byte* resolve(int lane, std::uint64_t address) {
    const std::uint64_t given = address;
    Space space = access_.space;
    if (space == Space::generic) space = space_of(address);
    const std::uint32_t align = access_.align != 0 ? access_.align : access_.bytes;
    if (address % align != 0) {
      report(DiagnosticKind::misaligned, lane, space, given,
             fmt::format("which is no multiple of {}", align));
      return nullptr;
    }
    switch (space) {
      case Space::shared:
        return shared(cta_, lane, address);
      case Space::cluster:
        return peer(lane, address);
      case Space::local:
        return local(lane, address);
      case Space::param:
        return parameter(lane, address);
      default:
        return global(lane, address);
    }
  }

 private:
  std::byte* shared(Cta& owner, int lane, std::uint64_t address) {
    // A 64-bit register may still carry the window.
    if (in_window(address, kSharedWindow)) address -= kSharedWindow;
    const std::span<std::byte> memory = owner.shared();
    const std::uint64_t offset = address - kSharedReserved;
    if (offset < memory.size() && memory.size() - offset >= access_.bytes) {
      return memory.data() + offset;
    }
    report(DiagnosticKind::out_of_bounds, lane, Space::shared, address,
           fmt::format("outside the block's {} bytes at 0x{:x}", memory.size(), kSharedReserved));
    return nullptr;
  }

  // An address of shared::cluster: see cluster_rank_at.
  std::byte* peer(int lane, std::uint64_t address) {
    if (in_window(address, kSharedWindow)) address -= kSharedWindow;
    const std::uint64_t above = address >> kClusterRankAt;
    if (above == 0) return shared(cta_, lane, address);
    const auto ctas = cta_.cluster().ctas();
    if (above > ctas.size()) {
      report(DiagnosticKind::out_of_bounds, lane, Space::cluster, address,
             fmt::format("of block {} of a cluster of {}", above - 1, ctas.size()));
      return nullptr;
    }
    Cta& owner = *ctas[above - 1];
    if (!owner.alive()) {
      report(DiagnosticKind::out_of_bounds, lane, Space::cluster, address,
             fmt::format("block {} of the cluster has ended, and its shared memory with it",
                         owner.rank()));
      return nullptr;
    }
    return shared(owner, lane, address & kSharedOffsetMask);
  }

  std::byte* local(int lane, std::uint64_t address) {
    const std::uint64_t size = cta_.context().program->local_bytes;
    if (in_window(address, kLocalWindow)) address -= kLocalWindow;
    if (address < size && size - address >= access_.bytes) {
      return warp_.local + static_cast<std::uint64_t>(lane) * size + address;
    }
    report(DiagnosticKind::out_of_bounds, lane, Space::local, address,
           fmt::format("outside the thread's {} bytes", size));
    return nullptr;
  }

  std::byte* parameter(int lane, std::uint64_t address) {
    const std::span<const std::byte> memory = cta_.context().parameters;
    const std::uint64_t offset = address - kParamWindow;
    if (!access_.write && offset < memory.size() && memory.size() - offset >= access_.bytes) {
      return const_cast<std::byte*>(memory.data() + offset);
    }
    report(DiagnosticKind::out_of_bounds, lane, Space::param, address,
           fmt::format("outside the kernel's {} bytes of parameters, or written", memory.size()));
    return nullptr;
  }

  std::byte* global(int lane, std::uint64_t address) {
    const Allocation* const allocation = allocation_at(cta_, address);
    const GlobalMemory& memory = *cta_.context().memory;
    if (allocation == nullptr) {
      report(memory.released(address) ? DiagnosticKind::freed : DiagnosticKind::out_of_bounds, lane,
             Space::global, address, memory.describe(address));
      return nullptr;
    }
    const std::uint64_t offset = address - allocation->address;
    if (access_.write && allocation->lent) {
      report(DiagnosticKind::read_only, lane, Space::global, address, "it wrote to an input");
      return nullptr;
    }
    if (allocation->size - offset < access_.bytes || (access_.write && !allocation->writable)) {
      report(DiagnosticKind::out_of_bounds, lane, Space::global, address, memory.describe(address));
      return nullptr;
    }
    return allocation->bytes + offset;
  }

  void report(DiagnosticKind kind, int lane, Space space, std::uint64_t address,
              const std::string& why) {
    cta_.report(
        kind, warp_, op_, lane,
        fmt::format("{} {} bytes at {} address 0x{:x}; {}", access_.write ? "writes" : "reads",
                    access_.bytes, space_name(space), address, why));
  }

  Warp& warp_;
  Cta& cta_;
  const Op& op_;
  const Access& access_;
};

// All lanes within one stretch of memory: one test for the whole warp, without branches.
bool all_within(const Addresses& addresses, std::uint64_t begin, std::uint64_t size,
                std::uint32_t bytes, std::byte* memory, Pointers& out) {
  if (size < bytes) return false;
  const std::uint64_t last = size - bytes;
  // As an integer: an offset that is wrong must not be added to a pointer.
  const auto where = reinterpret_cast<std::uintptr_t>(memory);
  // SSE2 compares no 64 bits. An offset beyond `last` has the top bit, or last - offset has.
  std::uint64_t beyond = 0;
  std::uint64_t low = 0;
  for (std::size_t i = 0; i < kWarpSize; ++i) {
    const std::uint64_t offset = addresses[i] - begin;
    beyond |= offset | (last - offset);
    low |= addresses[i];
    out[i] = reinterpret_cast<std::byte*>(where + offset);
  }
  return beyond >> 63 == 0 && (low & (bytes - 1)) == 0;
}

}  // namespace

void compute_addresses(const LaneFile& lanes, const Op& op, std::uint16_t base, int base_bytes,
                       Addresses& out) {
  const auto offset = static_cast<std::uint64_t>(op.immediate);
  if (base_bytes == 8) {
    const Word64* words = slot64(lanes, base);
    for (std::size_t i = 0; i < kWarpSize; ++i) out[i] = words[i] + offset;
  } else if (base_bytes == 4) {
    const std::uint32_t* words = slot(lanes, base);
    const auto low = static_cast<std::uint32_t>(offset);
    for (std::size_t i = 0; i < kWarpSize; ++i) {
      out[i] = static_cast<std::uint32_t>(words[i] + low);
    }
  } else {
    out.fill(offset);
  }
}

namespace {

// The addresses of the lanes of `mask`, and for the rest that of the first of them.
Addresses only(std::uint32_t mask, const Addresses& addresses) {
  const std::uint64_t first = addresses[static_cast<std::size_t>(std::countr_zero(mask))];
  Addresses some;
  for (std::size_t i = 0; i < kWarpSize; ++i)
    some[i] = (mask >> i & 1U) != 0 ? addresses[i] : first;
  return some;
}

// As resolve, but for lanes that are not all within one stretch it answers false and reports
// nothing.
bool find_at_once(Cta& cta, const Access& access, const Addresses& addresses, Pointers& out) {
  if (access.space == Space::shared || access.space == Space::cluster) {
    const std::span<std::byte> memory = cta.shared();
    return all_within(addresses, kSharedReserved, memory.size(), access.bytes, memory.data(), out);
  }
  if (access.space != Space::global && access.space != Space::generic) return false;
  const Allocation* const allocation = allocation_at(cta, addresses[0]);
  return allocation != nullptr && (allocation->writable || !access.write) &&
         all_within(addresses, allocation->address, allocation->size, access.bytes,
                    allocation->bytes, out);
}

bool find(Warp& warp, const Op& op, std::uint32_t mask, const Access& access,
          const Addresses& addresses, Pointers& out) {
  if (find_at_once(*warp.cta, access, mask == kFullMask ? addresses : only(mask, addresses), out))
    return true;
  Resolver resolver(warp, op, access);
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const auto i = static_cast<std::size_t>(lane);
    out[i] = resolver.resolve(lane, addresses[i]);
    if (out[i] == nullptr) return false;
  }
  return true;
}

}  // namespace

bool resolve(Warp& warp, const Op& op, std::uint32_t mask, const Access& access,
             const Addresses& addresses, Pointers& out) {
  if (!find(warp, op, mask, access, addresses, out)) return false;
  Sanitizer* const sanitizer = warp.cta->sanitizer();
  return sanitizer == nullptr || access.order == MemoryOrder::unwatched ||
         sanitizer->access(warp, op, mask, access, addresses);
}

std::byte* resolve_one(Warp& warp, const Op& op, int lane, const Access& access,
                       std::uint64_t address) {
  return Resolver(warp, op, access).resolve(lane, address);
}

std::uint64_t copied_sectors(std::uint32_t mask, const Addresses& from, const Addresses& to) {
  constexpr std::uint64_t line = 128;
  using Pairs = std::array<std::pair<std::uint64_t, std::uint64_t>, kWarpSize>;
  Pairs sectors{};
  Pairs targets{};
  std::size_t count = 0;
  for (std::size_t lane = 0; lane < kWarpSize; ++lane) {
    if ((mask >> lane & 1U) == 0) continue;
    sectors[count] = {from[lane] / line, from[lane] / kSectorBytes};
    targets[count++] = {from[lane] / line, to[lane] / line};
  }
  const auto distinct = [count](Pairs& pairs) {
    const std::ranges::subrange all(pairs.begin(),
                                    pairs.begin() + static_cast<std::ptrdiff_t>(count));
    std::ranges::sort(all);
    return std::span(pairs.begin(), std::ranges::unique(all).begin());
  };
  std::uint64_t asked = 0;
  const auto parts = distinct(targets);
  for (const auto& sector : distinct(sectors))
    asked += static_cast<std::uint64_t>(
        std::ranges::count(parts, sector.first, [](const auto& part) { return part.first; }));
  return asked;
}

namespace {

void count_shared(Record& record, std::uint32_t mask, std::uint32_t bytes,
                  const Addresses& addresses) {
  const Wavefronts own = shared_wavefronts(mask, bytes, addresses);
  record.totals.shared_wavefronts += own.taken;
  record.totals.shared_wavefronts_ideal += own.ideal;
  std::array<std::uint64_t, 2> wide{};
  for (const std::uint32_t i : {0U, 1U})
    if (bytes < 8U << i) wide[i] = shared_wavefronts(mask, 8U << i, addresses).taken;
  record.count_wide(wide);
}

// Of sorted `sectors`, one for each lane, those that lanes do not fill. Lanes that write the same
// bytes count as if they wrote others.
std::uint64_t in_part(std::span<const std::uint64_t> sectors, std::uint32_t bytes) {
  std::uint64_t parts = 0;
  for (std::size_t i = 0; i < sectors.size();) {
    const std::size_t first = i;
    while (i < sectors.size() && sectors[i] == sectors[first]) ++i;
    parts += (i - first) * bytes < kSectorBytes ? 1 : 0;
  }
  return parts;
}

}  // namespace

void count_access(Record& record, std::uint32_t mask, const Access& access,
                  const Addresses& addresses) {
  Counters& counters = record.totals;
  Space space = access.space;
  Addresses within = addresses;
  if (space == Space::generic) {
    std::uint64_t first = addresses[static_cast<std::size_t>(std::countr_zero(mask))];
    space = space_of(first);
    if (space == Space::cluster || space == Space::local) {
      for (std::uint64_t& address : within) address &= 0xffffffffU;
    }
  }
  switch (space) {
    case Space::shared:
    case Space::cluster:
      count_shared(record, mask, access.bytes, within);
      return;
    case Space::local:
      counters.local_accesses += 1;
      return;
    case Space::global: {
      std::array<std::uint64_t, kWarpSize> sectors{};
      std::size_t count = 0;
      for (std::size_t lane = 0; lane < kWarpSize; ++lane) {
        if ((mask >> lane & 1U) != 0) sectors[count++] = within[lane] / 32;
      }
      std::sort(sectors.begin(), sectors.begin() + static_cast<std::ptrdiff_t>(count));
      if (access.write)
        counters.global_sectors_in_part += in_part(std::span(sectors).first(count), access.bytes);
      const auto distinct = static_cast<std::uint64_t>(
          std::unique(sectors.begin(), sectors.begin() + static_cast<std::ptrdiff_t>(count)) -
          sectors.begin());
      counters.global_requests += 1;
      counters.global_wavefronts += global_wavefronts(mask, access.bytes, within);
      if (access.write) {
        counters.global_sectors_written += distinct;
        record.write(distinct);
      } else {
        counters.global_sectors_read += distinct;
        counters.global_sectors_again += record.read(std::span(sectors).first(distinct));
      }
      return;
    }
    default:
      return;
  }
}

bool reach(Warp& warp, const Op& op, std::uint32_t mask, const Access& access, Addresses& addresses,
           Pointers& out) {
  compute_addresses(warp, op, op.r[8], op.m[2], addresses);
  if (!resolve(warp, op, mask, access, addresses, out)) return false;
  if (Record* record = warp.cta->record()) count_access(*record, mask, access, addresses);
  return true;
}

}  // namespace fa_tune::emulator
