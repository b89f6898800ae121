#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace fa_tune::emulator {

// The 64 bits of an mbarrier object in shared memory (PTX ISA, "Parallel Synchronization and
// Communication Instructions: mbarrier"). Its form is the hardware's secret; this one lets memory
// that was never initialized, all zeros or all ones, be told from a barrier.
//
// A phase is complete when no arrival and no byte is pending; the next one then begins with the
// expected count.
class Mbarrier {
 public:
  static constexpr std::uint32_t kMostCount = (1U << 20) - 1;

  // A new one. `count` is 1 to most_count.
  static Mbarrier initialized(std::uint32_t count);
  // Nothing if the bits are no mbarrier.
  static std::optional<Mbarrier> from(std::uint64_t bits);
  std::uint64_t bits() const { return bits_; }

  std::uint32_t expected() const;
  std::uint32_t pending() const;
  std::int32_t pending_bytes() const;
  // Of the phase under way: 0 at first, then 1, 0, ...
  std::uint32_t parity() const;

  // Each changes the barrier and says what is wrong, if something is; a barrier in the wrong stays
  // as it was. `completed` tells whether the phase is over.
  struct Change {
    std::string_view wrong;
    bool completed = false;
  };
  Change arrive(std::uint32_t count);
  // arrive_drop: one fewer is expected in this and all later phases.
  Change arrive_and_drop(std::uint32_t count);
  Change expect_bytes(std::uint32_t bytes);
  Change complete_bytes(std::uint32_t bytes);
  // One more arrival is pending in this phase (cp.async.mbarrier.arrive without .noinc).
  Change expect_arrival();

 private:
  explicit Mbarrier(std::uint64_t bits) : bits_(bits) {}
  void set(std::uint32_t expected, std::uint32_t pending, std::int32_t bytes, std::uint32_t parity);
  Change settle(std::uint32_t expected, std::uint32_t pending, std::int32_t bytes);

  std::uint64_t bits_ = 0;
};

}  // namespace fa_tune::emulator
