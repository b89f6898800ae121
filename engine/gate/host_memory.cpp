#include "engine/gate/host_memory.hpp"

#include <algorithm>
#include <mutex>

namespace fa_tune {
namespace {

// Below this the allocator keeps what was freed by itself.
constexpr std::size_t kLarge = std::size_t{1} << 20;
// Kept for later at most: Q, K, V and O of 64 MB, for each of a few devices.
constexpr std::size_t kKept = std::size_t{1} << 30;

struct Kept {
  std::mutex mutex;
  std::vector<std::vector<std::byte>> blocks;
  std::size_t bytes = 0;
};

Kept& kept() {
  static Kept all;
  return all;
}

}  // namespace

HostMemory::HostMemory(std::size_t bytes) {
  if (bytes >= kLarge) {
    Kept& all = kept();
    const std::lock_guard lock(all.mutex);
    const auto found = std::ranges::find(all.blocks, bytes, &std::vector<std::byte>::size);
    if (found != all.blocks.end()) {
      bytes_ = std::move(*found);
      all.blocks.erase(found);
      all.bytes -= bytes;
      return;
    }
  }
  bytes_.resize(bytes);
}

HostMemory::~HostMemory() {
  if (bytes_.size() < kLarge) return;
  Kept& all = kept();
  const std::lock_guard lock(all.mutex);
  // Shapes that are no longer tried make room for those that are.
  while (!all.blocks.empty() && all.bytes + bytes_.size() > kKept) {
    all.bytes -= all.blocks.front().size();
    all.blocks.erase(all.blocks.begin());
  }
  if (bytes_.size() > kKept) return;
  all.bytes += bytes_.size();
  all.blocks.push_back(std::move(bytes_));
}

}  // namespace fa_tune
