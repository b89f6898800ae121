#pragma once

#include <expected>
#include <memory>

#include "engine/gate/compare.hpp"
#include "engine/gate/device_input_cache.hpp"

namespace fa_tune {

// Compares a result that is on the device with the expected one. If DeviceInputCache can, and only
// some rows are expected, only those rows come to the host, unless something is outside the limits.
// `input_cache` may be null.
std::expected<Comparison, Fault> compare_on_device(
    Device& device, DeviceInputCache* input_cache, const Place& place, const Tensor& output,
    const std::shared_ptr<const TruthCache::Entry>& truth);

}  // namespace fa_tune
