#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace fa_tune::gate {

// Memory for a tensor's bytes. Large blocks are kept when they are released, and are given out
// again as they are: fresh memory costs a page fault for each 4 KB, which for a tensor of 64 MB
// takes longer than copying it. Any thread may take and release.
class HostMemory {
 public:
  explicit HostMemory(std::size_t bytes);
  ~HostMemory();
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
  HostMemory(HostMemory&&) noexcept = default;
  HostMemory& operator=(HostMemory&&) = delete;

  // The contents are undefined at first. make_all() is for a caller that writes it from the first
  // byte to the last.
  std::span<std::byte> make_all();
  std::span<std::byte> bytes() { return {memory_.get(), size_}; }
  std::span<const std::byte> bytes() const { return {memory_.get(), size_}; }

 private:
  std::size_t size_;
  std::unique_ptr<std::byte[]> memory_;  // nothing once it is moved from
  bool fresh_ = false;                   // pages of it may be missing
};

}  // namespace fa_tune::gate
