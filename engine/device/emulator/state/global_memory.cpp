#include "engine/device/emulator/state/global_memory.hpp"

#include <cstring>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "engine/device/emulator/ir/program.hpp"

namespace fa_tune::emulator {
namespace {

constexpr std::uint64_t kAlignment = 256;
// Far more than an index that is off by a tile or a row can cross.
constexpr std::uint64_t kGap = std::uint64_t{64} << 20;
// As many released allocations are remembered.
constexpr std::size_t kMostReleased = 4096;

}  // namespace

const Allocation& GlobalMemory::allocate(std::uint64_t size, bool writable) {
  if (next_ == 0) next_ = kGlobalBegin;
  Allocation allocation;
  allocation.address = next_;
  allocation.size = size;
  allocation.writable = writable;
  allocation.storage = std::make_unique_for_overwrite<std::byte[]>(size + kAlignment);
  const auto raw = reinterpret_cast<std::uintptr_t>(allocation.storage.get());
  allocation.bytes = allocation.storage.get() + (kAlignment - raw % kAlignment) % kAlignment;
  std::memset(allocation.bytes, 0xff, size);
  next_ += (size + kGap) / kAlignment * kAlignment + kAlignment;
  const std::uint64_t address = allocation.address;
  return allocations_.emplace(address, std::move(allocation)).first->second;
}

void GlobalMemory::release(std::uint64_t address) {
  const auto found = allocations_.find(address);
  if (found == allocations_.end()) return;
  released_.push_back({address, found->second.size});
  if (released_.size() > kMostReleased) released_.pop_front();
  allocations_.erase(found);
}

void GlobalMemory::track(std::uint64_t address) {
  Allocation& allocation = allocations_.at(address);
  allocation.written = std::make_shared<InitShadow>(allocation.size);
}

void GlobalMemory::lend(std::uint64_t address) {
  Allocation& allocation = allocations_.at(address);
  allocation.lent = allocation.writable;
  allocation.writable = false;
}

void GlobalMemory::take_back(std::uint64_t address) {
  Allocation& allocation = allocations_.at(address);
  if (std::exchange(allocation.lent, false)) allocation.writable = true;
}

void GlobalMemory::track_no_more() {
  for (auto& [address, allocation] : allocations_) allocation.written.reset();
}

const GlobalMemory::Range* GlobalMemory::find_released(std::uint64_t address) const {
  for (const Range& range : released_) {
    if (address - range.address < range.size) return &range;
  }
  return nullptr;
}

const Allocation* GlobalMemory::find(std::uint64_t address) const {
  auto after = allocations_.upper_bound(address);
  if (after == allocations_.begin()) return nullptr;
  const Allocation& candidate = std::prev(after)->second;
  return address - candidate.address < candidate.size ? &candidate : nullptr;
}

std::string GlobalMemory::describe(std::uint64_t address) const {
  if (const Range* range = find_released(address)) {
    return fmt::format("it is byte {} of the {} bytes at 0x{:x}, which have been released",
                       address - range->address, range->size, range->address);
  }
  const auto after = allocations_.upper_bound(address);
  std::string text = "there is no allocation near it";
  std::uint64_t distance = kGap / 2;
  if (after != allocations_.begin()) {
    const Allocation& before = std::prev(after)->second;
    const std::uint64_t offset = address - before.address;
    if (offset < before.size) {
      return fmt::format("it is byte {} of the {} bytes at 0x{:x}{}", offset, before.size,
                         before.address, before.writable ? "" : ", which are constant");
    }
    if (offset - before.size < distance) {
      distance = offset - before.size;
      text = fmt::format("it is {} bytes past the end of the {} bytes at 0x{:x}", distance,
                         before.size, before.address);
    }
  }
  if (after != allocations_.end() && after->first - address < distance) {
    text = fmt::format("it is {} bytes before the {} bytes at 0x{:x}", after->first - address,
                       after->second.size, after->first);
  }
  return text;
}

}  // namespace fa_tune::emulator
