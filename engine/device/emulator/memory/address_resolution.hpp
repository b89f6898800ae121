#pragma once

#include <bit>

#include "engine/device/emulator/state/access.hpp"
#include "engine/device/emulator/state/cta.hpp"

namespace fa_tune::emulator {

// The address of each lane; also of lanes that do not take part.
void compute_addresses(const LaneFile& lanes, const Op& op, std::uint16_t base, int base_bytes,
                       Addresses& out);

// Pointers to what the lanes of `mask` access. Checks bounds, alignment and permission of each
// lane, and asks the Sanitizer if there is one; reports the first lane that fails and returns
// false.
bool resolve(Warp& warp, const Op& op, std::uint32_t mask, const Access& access,
             const Addresses& addresses, Pointers& out);

// Both, for the address of a memory instruction (r[8], m[2]), and counts the access.
bool reach(Warp& warp, const Op& op, std::uint32_t mask, const Access& access, Addresses& addresses,
           Pointers& out);

// The same for one lane, of any number of bytes. Null after a report.
std::byte* resolve_one(Warp& warp, const Op& op, int lane, const Access& access,
                       std::uint64_t address);

// A hash of the addresses that lanes have read and of the values found there. It stays the same
// while a poll sees nothing new.
class PollHash {
 public:
  explicit PollHash(std::uint32_t mask) : value_(mask) {}
  void add(std::uint64_t number) {
    value_ = (value_ ^ number) * 0x9e3779b97f4a7c15;
    value_ ^= value_ >> 29;
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_;
};

// Whether the first lane of `mask` accesses global memory, where another block may write.
inline bool is_global(const Addresses& addresses, std::uint32_t mask) {
  return addresses[static_cast<std::size_t>(std::countr_zero(mask))] >= kGlobalBegin;
}

// A read by which a warp may wait for another block has found `found`, a PollHash.
void note_poll(Warp& warp, const Op& op, std::uint64_t found);

// Counters of one access: shared-memory wavefronts, sectors, local accesses.
void count_access(Record& record, std::uint32_t mask, const Access& access,
                  const Addresses& addresses);
// Sectors that a copy asks for: all that it reads of a line of 128 bytes, for each line that they go
// to.
std::uint64_t copied_sectors(std::uint32_t mask, const Addresses& from, const Addresses& to);

}  // namespace fa_tune::emulator
