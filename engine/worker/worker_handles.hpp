#pragma once

#include <expected>
#include <functional>

#include "engine/device/device.hpp"

namespace fa_tune::worker {

// A worker's own handle of a buffer that the caller knows by another, or why there is none.
using BufferOf =
    std::function<std::expected<device::BufferHandle, device::Fault>(device::BufferHandle)>;

// Put the worker's handles in place of the caller's, in all places that name a buffer. What has
// been exchanged by the time of a fault stays so. The launch's kernel is left as it is.
std::expected<void, device::Fault> exchange_buffers(device::Launch& launch, const BufferOf& of);
std::expected<void, device::Fault> exchange_buffers(device::BufferChanges& changes,
                                                    const BufferOf& of);

}  // namespace fa_tune::worker
