#pragma once

#include <atomic>
#include <vector>

#include "engine/device/device_supply.hpp"
#include "engine/tuner/loop/evolve_options.hpp"
#include "engine/tuner/loop/task_queue.hpp"

namespace fa_tune::tuner {

// Where no device is left: those that come, as soon as some do. None once the supply's patience is
// over, or `stop` is set. For the queue's owner; the queue's tasks are run meanwhile.
std::vector<device::Device*> wait_for_devices(device::DeviceSupply& supply, TaskQueue& queue,
                                              EvolveListener& listener,
                                              const std::atomic<bool>& stop);

}  // namespace fa_tune::tuner
