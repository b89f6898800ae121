#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace fa_tune {

// Room for a tensor's bytes. Large ones are kept when they are given back and given out again as
// they are: fresh memory costs a page fault for each 4 KB of it, which for a tensor of 64 MB is
// longer than copying it. Any thread may take and give.
class HostMemory {
 public:
  explicit HostMemory(std::size_t bytes);
  ~HostMemory();
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
  HostMemory(HostMemory&&) noexcept = default;
  HostMemory& operator=(HostMemory&&) = delete;

  // What others left there, or zero.
  std::span<std::byte> bytes() { return bytes_; }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace fa_tune
