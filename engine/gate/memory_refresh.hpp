#pragma once

#include <functional>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/gate/arguments.hpp"
#include "engine/gate/device_buffer.hpp"

namespace fa_tune {

// What must be done to memory before a launch so that nothing is left in it of the launch before:
// outputs and workspaces are filled as at first. And its twin for comparison, the same work on
// memory that no kernel is given: as many fills of as many bytes each. What is written over is in
// neither: it is restored before every timed launch as it is (TimedLaunch::restore). A kernel that
// follows its inputs alone takes no longer after the one than after the other: what was filled last
// is in the second-level cache, so after `own` it finds there what it will write, and after `decoy`
// it has less room for the rest.
struct MemoryRefresh {
  BufferChanges own;
  BufferChanges decoy;
  SharedBuffer decoys;  // to be kept as long as they are used

  // `place`: where the tensor of that number lies.
  MemoryRefresh(Device& device, const std::vector<Tensor>& tensors,
                const std::function<Place(std::size_t)>& place);
};

}  // namespace fa_tune
