#pragma once

#include <functional>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/gate/device_buffer.hpp"
#include "engine/gate/tensor_source.hpp"

namespace fa_tune {

// What must be done to memory before a launch so that nothing is left in it of the launch before:
// outputs and workspaces are filled with ones, and what is written over is given back. And its
// twin for comparison, the same work on memory that no kernel is given: as many fills and copies of
// as many bytes each. A kernel that follows its inputs alone takes no longer after the one than
// after the other: what was filled last is in the second-level cache, so after `own` it finds there
// what it will write, and after `decoy` it has less room for the rest.
struct MemoryRefresh {
  BufferChanges own;
  BufferChanges decoy;
  std::vector<SharedBuffer> held;  // what the two need; to be kept as long as they are used

  // `place`: where the tensor of that number lies. `source` is asked for what is written over.
  MemoryRefresh(const TensorSource& source, const std::function<Place(std::size_t)>& place);
};

}  // namespace fa_tune
