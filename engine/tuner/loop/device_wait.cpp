#include "engine/tuner/loop/device_wait.hpp"

#include <chrono>

#include "engine/util/log.hpp"
#include "engine/util/stopwatch.hpp"

namespace fa_tune::tuner {

std::vector<device::Device*> wait_for_devices(device::DeviceSupply& supply, TaskQueue& queue,
                                              EvolveListener& listener,
                                              const std::atomic<bool>& stop) {
  if (auto arrived = supply.take_arrived(); !arrived.empty()) return arrived;
  constexpr std::chrono::milliseconds kLook{200};
  const std::chrono::duration<double, std::milli> patience = supply.patience();
  log_warning("no device is left; waits for {}, at most {:.0f} s", supply.awaited(),
              patience.count() / 1000);
  listener.on_wait(supply.awaited());
  for (const Stopwatch watch; !stop && watch.milliseconds() < patience.count();) {
    queue.run_pending(kLook);
    listener.on_wait(supply.awaited());
    if (auto arrived = supply.take_arrived(); !arrived.empty()) return arrived;
  }
  return {};
}

}  // namespace fa_tune::tuner
