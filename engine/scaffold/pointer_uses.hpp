#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "engine/scaffold/pointers.hpp"
#include "engine/scaffold/shared_memory.hpp"
#include "engine/scaffold/walk_state.hpp"

namespace fa_tune::scaffold {

// What a kernel does with its pointers: which buffers it reads and writes, and how far.
class PointerUses {
 public:
  PointerUses(WalkState& walk, Pointers& pointers, SharedMemory& shared)
      : walk_(walk), pointers_(pointers), shared_(shared) {}

  // The word at `at`, which may be a pointer or an array.
  void take(std::size_t at, Part part);

 private:
  Part pointer_around(std::size_t at, Part part);
  void pass_on(std::size_t at, Part part, BufferUse& buffer, const IndexRange& range,
               std::int64_t scale, const std::string& named = "");
  void note_use(const std::string& name, const IndexRange& range, std::int64_t scale);

  WalkState& walk_;
  Pointers& pointers_;
  SharedMemory& shared_;
};

}  // namespace fa_tune::scaffold
