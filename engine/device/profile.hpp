#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/value.hpp"
#include "engine/device/emulator/profile.hpp"

namespace fa_tune {

// A model of GPU as the emulator knows it, read from search_spaces/devices/NAME.yaml, where each
// figure has its source.
struct DeviceProfile : emulator::DeviceProfile {
  std::string given;  // what load_profile found it by

  // The limits (not the rates) by the names an expression uses after "device.".
  Constants facts() const;
};

// NAME as a path if it looks like one (has a '/' or ends in .yaml) and there is such a file, else
// search_spaces/devices/NAME.yaml under `root`. Throws UserError with file, line and column; a name
// that does not exist is answered with the names that do.
DeviceProfile load_profile(const std::string& name, const std::filesystem::path& root);

// The first of search_spaces/devices, by name, that is of this architecture ("sm_90"), if one is.
std::optional<DeviceProfile> profile_of_arch(const std::string& arch,
                                             const std::filesystem::path& root);

}  // namespace fa_tune
