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

// A kernel's arguments, from an instance. A tensor's argument is its address, a map's shows the
// tensor it names; both are at the place that `place` gives for the tensor's index in
// instance.tensors. A scalar's argument is its bytes. Returns a Fault if the device rejects a map.
// Throws UserError for a name that is none of these.
std::expected<std::vector<device::Argument>, device::Fault> make_arguments(
    device::Device& device, const BoundKernel& kernel, const problem::Instance& instance,
    const std::function<Place(std::size_t)>& place);

// A launch with those arguments. It marks the tensors that are constants, and inputs as read-only,
// because each has a buffer of its own.
std::expected<device::Launch, device::Fault> make_launch(
    device::Device& device, const BoundKernel& kernel, const problem::Instance& instance,
    const std::function<Place(std::size_t)>& place);

}  // namespace fa_tune::gate
