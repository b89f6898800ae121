#pragma once

#include <expected>
#include <memory>

#include "engine/gate/compare.hpp"
#include "engine/gate/device_input_cache.hpp"

namespace fa_tune::gate {

// Compares a result that is on the device with the expected one. If DeviceInputCache can, and only
// some rows are expected, only those rows come to the host, unless something is outside the limits.
// `input_cache` may be null.
std::expected<Comparison, device::Fault> compare_on_device(
    device::Device& device, DeviceInputCache* input_cache, const Place& place,
    const problem::Tensor& output, const std::shared_ptr<const TruthCache::Entry>& truth);

}  // namespace fa_tune::gate
