#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/device/emulator/shadow/vector_clocks.hpp"

namespace fa_tune::emulator {

// How an access goes together with others at the same place: the scope of a strong one, and the CTA
// that made it.
class Strength {
 public:
  constexpr Strength() = default;
  // `cta`: its rank in the cluster.
  constexpr Strength(MemoryScope scope, std::uint32_t cta)
      : bits_(static_cast<std::uint8_t>(static_cast<unsigned>(scope) | cta << 2)) {}

  constexpr MemoryScope scope() const { return static_cast<MemoryScope>(bits_ & 3); }
  constexpr std::uint32_t cta() const { return bits_ >> 2; }
  constexpr Strength weaker(Strength other) const {
    return {std::min(scope(), other.scope()), cta()};
  }
  // Whether each one's scope includes the other's thread, so that they do not race (PTX ISA, "Memory
  // Consistency Model: Morally Strong Operations"). `least`: the narrowest scope that does.
  constexpr bool with(Strength other, MemoryScope least) const {
    return scope() >= least && other.scope() >= least;
  }
  // Within a cluster.
  constexpr bool with(Strength other) const {
    return with(other, cta() == other.cta() ? MemoryScope::cta : MemoryScope::cluster);
  }

 private:
  std::uint8_t bits_ = 0;
};

// Who made an access and when. `time` is its agent's; `unfinished` means that nobody knows yet when
// it ends.
struct Stamp {
  static constexpr std::uint32_t kUnfinished = ~0U;
  std::uint32_t time = 0;
  std::uint32_t op = 0;     // index of the instruction
  std::uint16_t agent = 0;  // of VectorClocks
  std::uint8_t lane = 0;
  Strength strength;
};

// An access and one before it that nothing orders.
struct Conflict {
  Stamp before;
  bool before_writes = false;
  bool writes = false;
  std::uint32_t lane = 0;  // of the access at hand
  std::size_t offset = 0;  // bytes where the two meet
  std::size_t bytes = 0;
};

// Says which conflicts are no races.
class RaceFilter {
 public:
  virtual ~RaceFilter() = default;
  // False ends the access.
  virtual bool is_benign(const Conflict& conflict) = 0;
};

// Who makes or starts an access, and what it knows.
struct Viewer {
  std::uint16_t agent = 0;
  const WarpView* view = nullptr;
  // Through the asynchronous proxy: what threads wrote must have been made visible to it (PTX ISA,
  // "Async proxy"). What it wrote itself is seen once it is complete.
  bool by_proxy = false;
  std::uint32_t warps = 0;  // agents before are threads' own
};

// What happened last to each place of a CTA's shared memory: the last write and, since then, the
// last read of each agent. Kept for 16 bytes as one while they are only accessed as one, else for
// cells as wide as the narrowest access so far.
class SharedShadow {
 public:
  // `readers`: agents whose reads of one place are told apart; of more, some are forgotten.
  SharedShadow(std::size_t bytes, std::uint32_t readers);

  // One lane's access of `bytes` (1 to 16, or a multiple of 16) at a multiple of as much (of 16).
  // Recorded as `stamp`, which is the viewer's own or that of the agent that makes it for the
  // viewer. False if the filter says so.
  bool read(const Viewer& viewer, const Stamp& stamp, std::size_t offset, std::size_t bytes,
            RaceFilter& filter) {
    return read(viewer, stamp, 1U << stamp.lane, offset, bytes, filter);
  }
  // The same by all of `lanes`, of which the stamp names one.
  bool read(const Viewer& viewer, const Stamp& stamp, std::uint32_t lanes, std::size_t offset,
            std::size_t bytes, RaceFilter& filter);
  bool write(const Viewer& viewer, const Stamp& stamp, std::size_t offset, std::size_t bytes,
             RaceFilter& filter);
  // The unfinished write that `stamp` describes ends: it is now known as `done`.
  void finish(const Stamp& stamp, const Stamp& done, std::size_t offset, std::size_t bytes);

 private:
  static constexpr std::size_t kChunk = 16;

  struct Cell {
    Stamp write;
    bool parted = false;        // of a chunk: its cells hold the truth
    std::uint64_t readers = 0;  // slots in use
  };
  struct Read {
    Stamp stamp;  // its lane is not used
    std::uint32_t lanes = 0;
  };
  struct Cells {
    std::vector<Cell> cells;
    std::vector<Read> reads;  // `slots_` a cell
  };
  struct Place {
    Cells* cells;
    std::size_t index;
    std::size_t offset;
    std::size_t bytes;
  };

  bool read_cell(const Viewer& viewer, const Stamp& stamp, std::uint32_t lanes, const Place& place,
                 RaceFilter& filter);
  // Where an agent's read is kept, or may be: in the place of another only where all are taken.
  std::size_t slot_of(std::uint16_t agent, const Place& place) const;
  bool check_write(const Viewer& viewer, const Stamp& stamp, const Place& place,
                   RaceFilter& filter);
  void narrow(std::size_t unit);
  void part(std::size_t index);
  // Calls `act` with every cell of [offset, offset + bytes) until it returns false.
  template <class Act>
  bool each_cell(std::size_t offset, std::size_t bytes, Act&& act);

  std::uint32_t slots_ = 0;  // a power of two
  std::size_t unit_ = kChunk;
  Cells chunks_;
  Cells parts_;  // of unit_ bytes each; none while nothing is narrower than a chunk
};

}  // namespace fa_tune::emulator
