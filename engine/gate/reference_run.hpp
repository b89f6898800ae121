#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "engine/device/device.hpp"
#include "engine/kernel/compile/compiler.hpp"
#include "engine/problem/reference.hpp"

namespace fa_tune::gate {

using DeviceMaker = std::function<std::unique_ptr<device::Device>()>;
using CompileCall = std::function<kernel::CompileOutcome(const kernel::CompileRequest&)>;

// Runs reference kernels on a device of their own, made when it is first needed. Both functions are
// called by one thread at a time; one that is gone with its machine (DeviceGone) is made anew. Large inputs want a dozen runs of seconds: once `stop` is set, if
// there is one, the next of them throws Interrupted instead.
std::shared_ptr<problem::ReferenceRunner> make_reference_runner(
    DeviceMaker make_device, CompileCall compile, const std::atomic<bool>* stop = nullptr);

}  // namespace fa_tune::gate
