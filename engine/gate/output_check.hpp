#pragma once

#include <expected>
#include <memory>

#include "engine/gate/compare.hpp"
#include "engine/gate/originals.hpp"

namespace fa_tune {

// Compares a result that lies on the device with its truth. Where Originals can, and a truth is of
// some rows only, no more than those rows come to the host, unless something is outside the limits.
// `originals` may be null.
std::expected<Comparison, Fault> compare_there(
    Device& device, Originals* originals, const Place& place, const Tensor& output,
    const std::shared_ptr<const TruthCache::Entry>& truth);

}  // namespace fa_tune
