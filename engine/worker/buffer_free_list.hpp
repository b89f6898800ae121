#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "engine/device/handles.hpp"

namespace fa_tune::worker {

// A buffer as the worker knows it.
struct RemoteBuffer {
  device::BufferHandle handle{};
  int generation = 0;  // of the worker that has it
  std::uint64_t address = 0;
  std::size_t bytes = 0;
};

// Buffers that were given back, for the next who asks for as many bytes: a trial asks for some 70,
// mostly of the same sizes as the one before, and each costs a question and an answer, and a driver
// longer than a kernel runs. The only list of its kind. Whoever puts one here has had it wiped: no
// kernel may find there what another has left, which may be the result that it is to compute.
class BufferFreeList {
 public:
  static constexpr std::size_t kMost = std::size_t{1} << 30;  // bytes

  // One of the worker `generation`; what is of another went with it, and is forgotten.
  std::optional<RemoteBuffer> take(std::size_t bytes, int generation) {
    if (!by_size_.empty() && by_size_.begin()->second.generation != generation) drop();
    const auto found = by_size_.find(bytes);
    if (found == by_size_.end()) return std::nullopt;
    const RemoteBuffer taken = found->second;
    by_size_.erase(found);
    bytes_ -= bytes;
    return taken;
  }
  // False if there is no room.
  bool put(const RemoteBuffer& buffer) {
    if (!by_size_.empty() && by_size_.begin()->second.generation != buffer.generation) drop();
    if (buffer.bytes > kMost - bytes_) return false;
    by_size_.emplace(buffer.bytes, buffer);
    bytes_ += buffer.bytes;
    return true;
  }
  std::vector<RemoteBuffer> drop() {
    std::vector<RemoteBuffer> dropped;
    for (const auto& [bytes, buffer] : by_size_) dropped.push_back(buffer);
    by_size_.clear();
    bytes_ = 0;
    return dropped;
  }

 private:
  std::multimap<std::size_t, RemoteBuffer> by_size_;
  std::size_t bytes_ = 0;
};

}  // namespace fa_tune::worker
