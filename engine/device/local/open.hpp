#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/device/profile.hpp"

namespace fa_tune::device {

// Opens a device by the name a user types:
//   cuda:N        GPU number N through the driver, libcuda.so.1 opened now
//   emulator:NAME the emulator with the device profile NAME (l4, a100, h100, or a file)
//   auto          cuda:0 if there is a usable GPU, else the emulator with `target`
// `instructions`: what an emulator may execute, on one thread then; see open_emulator.
// `root` is the folder that holds search_spaces. Throws UserError for a name of no such form, and
// MachineError (what was looked for, what was found) where the device is not there.
std::unique_ptr<Device> open_device(const std::string& name, const DeviceProfile& target,
                                    const std::filesystem::path& root,
                                    std::optional<std::uint64_t> instructions = std::nullopt);

// One line a GPU the driver can see; empty where there is no driver. Never throws. For `doctor`.
std::vector<DeviceInfo> list_gpus();

}  // namespace fa_tune::device
