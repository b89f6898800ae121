#pragma once

#include <cstddef>
#include <memory>
#include <span>

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

  // What others left there, or anything. make_all(): to be used from the first byte to the last.
  std::span<std::byte> make_all();
  std::span<std::byte> bytes() { return {memory_.get(), size_}; }
  std::span<const std::byte> bytes() const { return {memory_.get(), size_}; }

 private:
  std::size_t size_;
  std::unique_ptr<std::byte[]> memory_;  // nothing once it is moved from
  bool fresh_ = false;                   // pages of it may be missing
};

}  // namespace fa_tune
