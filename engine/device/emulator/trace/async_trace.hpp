#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

// What the warps of a cluster did to mbarriers and with bulk copies, in a form that another order of
// events can be worked out from: who signals which phase, and who waits for which.

namespace fa_tune::emulator {

inline constexpr std::uint32_t kNoPhase = ~0U;

// A phase of an mbarrier, of the CTA whose shared memory the mbarrier is in. It is complete when
// all of its signals were given, which are the arrivals and copies that completed it in the run.
struct MbarrierPhase {
  std::uint32_t signals = 0;     // by warps of the CTA: arrivals of a warp, and copies
  std::uint64_t own_bytes = 0;   // of copies that the CTA itself began
  std::uint64_t peer_bytes = 0;  // of copies that other CTAs of the cluster began
  bool peer_arrivals = false;
};

// What one warp instruction did beyond what its opcode says.
struct AsyncEvent {
  enum class Kind : std::uint8_t {
    arrive,         // signals `phase`
    arrive_copies,  // signals it when the warp's cp.async are done
    wait,           // goes on when `phase` is complete
    load,           // L2 to shared memory; signals `phase` when it is done
    peer,           // shared memory to that of the cluster
    store,          // shared memory to L2, in the warp's open bulk group
    barrier,        // bar.sync or bar.arrive whose number is in a register: `phase` is that number
  };
  std::uint32_t at = 0;            // the instruction: number among those that the trace keeps
  std::uint32_t phase = kNoPhase;  // of BlockTrace::phases; none: a copy for other CTAs alone
  std::uint32_t bytes = 0;         // of a barrier: warps that it waits for, 0: all of the CTA
  std::uint16_t receivers = 1;     // CTAs that a load brings its bytes to
  Kind kind = Kind::arrive;
};

// The mbarriers of the cluster that runs, by their place in memory.
class MbarrierNames {
 public:
  struct Name {
    std::uint32_t slot = 0;  // of the CTA (the cluster's rank)
    std::uint32_t current = kNoPhase;
    std::uint32_t before = kNoPhase;  // the phase that was completed last
  };
  void clear() { names_.clear(); }
  Name& operator[](const std::byte* where) { return names_[where]; }
  Name* find(const std::byte* where) {
    const auto found = names_.find(where);
    return found == names_.end() ? nullptr : &found->second;
  }

 private:
  std::unordered_map<const std::byte*, Name> names_;
};

}  // namespace fa_tune::emulator
