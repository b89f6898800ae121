#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "db/store.hpp"
#include "engine/device/device.hpp"
#include "engine/kernel/compiler.hpp"
#include "engine/run/evolve.hpp"
#include "engine/run/project.hpp"

namespace fa_tune {

// The fastest screens are mostly the luckiest. So the best few and the presets are gated again,
// with new inputs and on all of the problem's suites, and timed again with more samples; what fails
// is refused after all. On a device that predicts a second time would be the same number, so there
// only the winner is gated again, and if it fails the next one. Returns false if the device was
// lost or `stop` was set.
bool run_finals(const Project& project, Device& device, CompilePool& pool, Store& store,
                std::int64_t run, std::uint64_t seed, const std::vector<std::string>& suites,
                EvolveListener& listener, const std::atomic<bool>& stop);

}  // namespace fa_tune
