#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/device/emulator/shadow/vector_clocks.hpp"

namespace fa_tune::emulator {

// Who made an access and when. `time` is its agent's; `unfinished` means that nobody knows yet when
// it ends.
struct Stamp {
  static constexpr std::uint32_t kUnfinished = ~0U;
  std::uint32_t time = 0;
  std::uint32_t op = 0;     // index of the instruction
  std::uint16_t agent = 0;  // of VectorClocks
  std::uint8_t lane = 0;
  // Atomic, volatile, relaxed and the like: two of them never race (PTX ISA, memory consistency
  // model, morally strong).
  bool strong = false;
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

// Who makes or starts an access, and the clock with which earlier accesses are compared.
struct Viewer {
  static constexpr std::uint16_t kNobody = 0xffff;  // its own warp is one among others
  std::uint16_t agent = 0;
  const Times* known = nullptr;
};

// What happened last to each place of a CTA's shared memory: the last write and, since then, the
// last read of each agent. Kept for 16 bytes as one while they are only accessed as one, else for
// cells as wide as the narrowest access so far. Lanes of one warp are ordered where their warp's
// time differs; at the same time only each lane's own accesses are.
class SharedShadow {
 public:
  // `readers`: agents whose reads are told apart; of more, some are forgotten.
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
