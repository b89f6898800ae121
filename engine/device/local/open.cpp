#include "engine/device/local/open.hpp"

#include <charconv>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "engine/device/cuda/cuda_device.hpp"
#include "engine/device/local/emulated.hpp"
#include "engine/util/error.hpp"
#include "engine/util/log.hpp"

namespace fa_tune::device {
namespace {

// N of "cuda:N"; nothing if it is not a plain number.
std::optional<int> gpu_number(const std::string& text) {
  int number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stop != end || number < 0) return std::nullopt;
  return number;
}

std::unique_ptr<Device> open_any(const DeviceProfile& target) {
  try {
    return cuda::open_cuda(0);
  } catch (const MachineError& error) {
    log_info("no usable GPU, hence emulator:{}; times will be predictions ({})", target.name,
             error.what());
  }
  return open_emulator(target);
}

}  // namespace

std::unique_ptr<Device> open_device(const std::string& name, const DeviceProfile& target,
                                    const std::filesystem::path& root,
                                    std::optional<std::uint64_t> instructions) {
  constexpr std::string_view cuda = "cuda:";
  constexpr std::string_view emulator = "emulator:";
  if (name == "auto") return open_any(target);
  if (name == "cuda") return cuda::open_cuda(0);
  if (name.starts_with(cuda)) {
    if (const auto number = gpu_number(name.substr(cuda.size()))) {
      return cuda::open_cuda(*number);
    }
  }
  if (name.starts_with(emulator) && name.size() > emulator.size()) {
    const DeviceProfile profile = load_profile(name.substr(emulator.size()), root);
    return instructions ? open_emulator(profile, 1, *instructions) : open_emulator(profile);
  }
  throw UserError(fmt::format(
      "device '{}' is not known: write auto, cuda:N (N from 0), or emulator:NAME with the name or "
      "file of a device profile, such as emulator:l4",
      name));
}

std::vector<DeviceInfo> list_gpus() { return cuda::list_cuda(); }

}  // namespace fa_tune::device
