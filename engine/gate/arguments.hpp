#pragma once

#include <expected>
#include <functional>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/gate/gate.hpp"
#include "engine/problem/problem.hpp"

namespace fa_tune::gate {

// Where a tensor's data begins.
struct Place {
  device::BufferHandle buffer{};
  std::size_t offset = 0;  // bytes
};

// The kernel's own workspaces as tensors, in their order.
std::vector<problem::Tensor> workspaces_of(const BoundKernel& kernel);

// A launch with a kernel's arguments, from an instance. A tensor's argument is its address, a map's
// shows the tensor it names; both are at the place that `place` gives for the tensor's index in
// instance.tensors, behind which the kernel's own workspaces go on. A scalar's argument is its
// bytes. It marks the tensors that are constants, and inputs as read-only, because each has a buffer
// of its own. Returns a Fault if the device rejects a map, or if a step copies to a tensor of
// another size. Throws UserError for a name that is none of these.
std::expected<device::Launch, device::Fault> make_launch(
    device::Device& device, const BoundKernel& kernel, const problem::Instance& instance,
    const std::function<Place(std::size_t)>& place);

}  // namespace fa_tune::gate
