#pragma once

#include <functional>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/gate/arguments.hpp"
#include "engine/gate/device_buffer.hpp"

namespace fa_tune::gate {

// The changes of memory before a launch that remove what the launch before has left: outputs and
// workspaces are filled as at first. `decoy` is the same work on memory that no kernel is given,
// for comparison: as many fills of as many bytes each. Neither has the tensors that the kernel
// writes over, which are restored before every timed launch anyway (TimedLaunch::restore). A kernel
// that depends on its inputs alone takes no longer after `own` than after `decoy`. The last bytes
// filled are in the second-level cache: after `own` it finds there what it will write, and after
// `decoy` it has less room for the rest.
struct MemoryRefresh {
  device::BufferChanges own;
  device::BufferChanges decoy;
  SharedBuffer decoys;  // to be kept as long as they are used

  // `place`: where the tensor of that number lies.
  MemoryRefresh(device::Device& device, const std::vector<problem::Tensor>& tensors,
                const std::function<Place(std::size_t)>& place);
};

}  // namespace fa_tune::gate
