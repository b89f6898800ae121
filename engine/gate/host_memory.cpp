#include "engine/gate/host_memory.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

#include "engine/util/memory.hpp"

namespace fa_tune::gate {
namespace {

// Below this the allocator keeps what was freed by itself.
constexpr std::size_t kLarge = std::size_t{1} << 20;
// Kept for later at most: Q, K, V and O of 64 MB, for each of a few devices.
constexpr std::size_t kKept = std::size_t{1} << 30;

struct Block {
  std::size_t bytes;
  std::unique_ptr<std::byte[]> memory;
  bool fresh;
};

struct Kept {
  std::mutex mutex;
  std::vector<Block> blocks;  // the longest unused first
  std::size_t bytes = 0;
};

Kept& kept() {
  static Kept all;
  return all;
}

}  // namespace

HostMemory::HostMemory(std::size_t bytes) : size_(bytes) {
  if (bytes >= kLarge) {
    Kept& all = kept();
    const std::lock_guard lock(all.mutex);
    const auto found = std::ranges::find(all.blocks, bytes, &Block::bytes);
    if (found != all.blocks.end()) {
      memory_ = std::move(found->memory);
      fresh_ = found->fresh;
      all.blocks.erase(found);
      all.bytes -= bytes;
      return;
    }
  }
  // Not set to zero: what is never used of it never becomes memory.
  memory_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
  fresh_ = true;
}

std::span<std::byte> HostMemory::make_all() {
  if (fresh_) populate(bytes());
  fresh_ = false;
  return bytes();
}

HostMemory::~HostMemory() {
  if (memory_ == nullptr || size_ < kLarge || size_ > kKept) return;
  Kept& all = kept();
  const std::lock_guard lock(all.mutex);
  // Shapes that are no longer tried make room for those that are.
  while (all.bytes + size_ > kKept) {
    all.bytes -= all.blocks.front().bytes;
    all.blocks.erase(all.blocks.begin());
  }
  all.bytes += size_;
  all.blocks.push_back({size_, std::move(memory_), fresh_});
}

}  // namespace fa_tune::gate
