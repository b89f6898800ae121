#pragma once

#include <filesystem>
#include <memory>

#include "engine/device/device.hpp"
#include "engine/device/profile.hpp"
#include "engine/kernel/compiler.hpp"
#include "engine/problem/reference.hpp"

namespace fa_tune {

// For a problem whose truth comes from a kernel: that runs on a device as `beside`, in a process of
// its own, so that no kernel under test can reach what it computes. The compiler must outlive it.
std::shared_ptr<ReferenceRunner> reference_beside(const Device& beside, Compiler& compiler,
                                                  const DeviceProfile& target,
                                                  const std::filesystem::path& root);

}  // namespace fa_tune
