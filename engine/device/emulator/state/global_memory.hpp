#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "engine/device/emulator/shadow/init_shadow.hpp"

namespace fa_tune::emulator {

// A piece of global memory. Its first byte has the device address `address`.
struct Allocation {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  bool writable = true;
  bool lent = false;  // and so not writable, for the time of a launch
  std::unique_ptr<std::byte[]> storage;
  std::byte* bytes = nullptr;  // in storage, aligned to 256
  // Which bytes have been written; null: all of them, or nobody knows.
  std::shared_ptr<InitShadow> written;
};

// The device's global memory: allocations at made-up addresses with wide gaps between them, never
// given out twice, so that an access past an end or after a release meets nothing.
class GlobalMemory {
 public:
  // Filled with 0xff bytes, which are NaN in every floating type. Throws std::bad_alloc
  // when the machine has not so much.
  const Allocation& allocate(std::uint64_t size, bool writable = true);
  void release(std::uint64_t address);
  // Begins to keep account of what is written to an allocation, nothing so far; and ends it for all
  // of them, when something has written that keeps no account.
  void track(std::uint64_t address);
  void track_no_more();
  // From now on it may only be read; and as before.
  void lend(std::uint64_t address);
  void take_back(std::uint64_t address);
  // The allocation that holds the byte at `address`, or none.
  const Allocation* find(std::uint64_t address) const;
  // Whether the byte at `address` was in an allocation that has been released (of the last few
  // thousand).
  bool released(std::uint64_t address) const { return find_released(address) != nullptr; }
  // "16 bytes past the end of the 4096 bytes at 0x...": for messages.
  std::string describe(std::uint64_t address) const;

 private:
  struct Range {
    std::uint64_t address = 0;
    std::uint64_t size = 0;
  };

  const Range* find_released(std::uint64_t address) const;

  std::deque<Range> released_;
  std::map<std::uint64_t, Allocation> allocations_;
  std::uint64_t next_ = 0;
};

}  // namespace fa_tune::emulator
