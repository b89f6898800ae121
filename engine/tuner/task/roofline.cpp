#include "engine/tuner/task/roofline.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "engine/util/environment.hpp"

namespace fa_tune::tuner {
namespace {

// What a time must at least be of the bound: a profile has the clock that a GPU sustains, and the
// L4's boost is 1.28 times that.
constexpr double kMargin = 0.75;

bool same_gpu(const device::DeviceProfile& profile, const device::DeviceInfo& device) {
  return profile.arch == device.arch && profile.sms == device.sms;
}

}  // namespace

Ceilings ceilings(const device::DeviceProfile& profile, int sms, double tensor_speed) {
  const double clocks_per_us = profile.clock_mhz * sms;
  return {.flop_per_us =
              tensor_speed * clocks_per_us *
              std::max(profile.tensor_f16_flop_per_clock_sm, profile.wgmma_f16_flop_per_clock_sm),
          .l2_bytes_per_us = clocks_per_us * profile.l2_bytes_per_clock_sm,
          .port_bytes_per_us = clocks_per_us * std::max(profile.l2_bytes_per_clock_sm,
                                                        profile.l2_port_bytes_per_clock_sm),
          .dram_bytes_per_us = profile.dram_gb_per_s * 1e3};
}

Roofline roofline(const device::DeviceProfile& profile, int sms, double flop, double bytes,
                  double tensor_speed) {
  const Ceilings most = ceilings(profile, sms, tensor_speed);
  const double computing = flop / most.flop_per_us;
  const double moving = bytes / most.port_bytes_per_us;
  const std::string least =
      computing > moving
          ? fmt::format("{:.3g} GFLOP at {:.0f} TFLOP/s", flop / 1e9, most.flop_per_us / 1e6)
          : fmt::format("{:.3g} MB at {:.1f} TB/s", bytes / 1e6, most.port_bytes_per_us / 1e6);
  return {kMargin * std::max(computing, moving),
          fmt::format("{} (profile {}, {} SMs)", least, profile.name, sms)};
}

std::optional<device::DeviceProfile> profile_of(const device::DeviceInfo& device,
                                                const device::DeviceProfile& target,
                                                const std::filesystem::path& root) {
  const bool fits = same_gpu(target, device);
  if (fits && device::is_of_model(target, device.name)) return target;
  auto shipped = device::profile_of_device(device.name, device.arch, device.sms, root);
  if (fits && !(shipped && device::is_of_model(*shipped, device.name))) return target;
  return shipped;
}

std::optional<Roofline> roofline_of(const problem::Problem& problem,
                                    const device::DeviceInfo& device,
                                    const device::DeviceProfile& target) {
  const auto profile = profile_of(device, target, find_root());
  if (!profile) return std::nullopt;
  return roofline(*profile, device.sms, problem.flop(problem.shape()),
                  problem.bytes(problem.shape()), problem.tensor_speed());
}

}  // namespace fa_tune::tuner
