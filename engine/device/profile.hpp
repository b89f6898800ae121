#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/emulator/target/profile.hpp"
#include "engine/yaml/value.hpp"

namespace fa_tune::device {

// A model of GPU as the emulator knows it, read from search_spaces/devices/NAME.yaml, where each
// figure has its source.
struct DeviceProfile : emulator::DeviceProfile {
  std::string given;  // what load_profile found it by
  // Of DeviceProfile::residuals, which are not read before an emulator is opened (residual_file.hpp).
  // Empty where there are none.
  std::filesystem::path residuals_file;

  // The limits (not the rates) by the names an expression uses after "device.".
  Constants facts() const;
};

// NAME as a path if it looks like one (has a '/' or ends in .yaml) and there is such a file, else
// search_spaces/devices/NAME.yaml under `root`. Throws UserError with file, line and column; a name
// that does not exist is answered with the names that do.
DeviceProfile load_profile(const std::string& name, const std::filesystem::path& root);

// Whether the model in its title, as H200 of "NVIDIA H200 SXM", is in a device's name, as in
// "NVIDIA H200 NVL".
bool is_of_model(const DeviceProfile& profile, const std::string& device);

// The profile of search_spaces/devices that is for a GPU: of those of its architecture ("sm_90")
// the one of its model, else the first by name with as many SMs, else the first by name; nothing if
// none is of its architecture. `sms`: 0 where they are not known.
std::optional<DeviceProfile> profile_of_device(const std::string& device, const std::string& arch,
                                               int sms, const std::filesystem::path& root);

}  // namespace fa_tune::device
