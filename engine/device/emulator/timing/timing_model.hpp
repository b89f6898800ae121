#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/device/emulator/ir/program.hpp"
#include "engine/device/emulator/target/launch.hpp"
#include "engine/device/emulator/target/occupancy.hpp"
#include "engine/device/emulator/target/profile.hpp"
#include "engine/device/emulator/trace/counters.hpp"
#include "engine/device/emulator/trace/record.hpp"

namespace fa_tune::emulator {

struct Part {
  std::string name;
  double us = 0;
};

// What the model says of a launch.
struct SimulatedLaunch {
  double us = 0;          // all of it
  double launch_us = 0;   // of that, before the first block begins
  double memory_us = 0;   // L2, DRAM or atomics alone would take, less than which the rest does not
  double end_us = 0;      // from the last warp's end until what has been stored is seen
  double clock_loss = 0;  // a part of the clock (clock_loss())
  // A unit that is busy for most of the time ("tensor", "shared memory", "issue", "l2", "dram", ...),
  // "launch", or "waits for ..." where nothing is.
  std::string bound_by;
  Occupancy held;
  std::uint64_t blocks_on_busiest_sm = 0;
  double rounds = 0;                // blocks a place for one, in the mean
  std::vector<Part> units;          // how long each works, with "issue", "l2" and "dram"
  std::vector<Part> waits;          // of a warp
  double bulk_bytes_per_clock = 0;  // that bulk copies bring an SM
  double order_ratio = 1;           // SmTime::order_ratio
  double atomics_us = 0;
  Counters counters;   // of the whole grid
  double to_grid = 1;  // blocks of the grid, by those that were recorded
  double simulated_share = 1;
  double machine_share = 0;  // of the code, MachineCode::machine_share
  std::string unmatched;
};

// What the simulated SM does not see takes this much of its time. Set on the train variants.
inline constexpr double kModelBias = 1.04;

// The part of its clock that a GPU under load loses: of its power it has no more. `tensor_share`: of
// wgmma's rate; `bulk_bytes`: that bulk copies bring each SM in a clock.
double clock_loss(const DeviceProfile& profile, double tensor_share, double bulk_bytes);

// By the model that timing_model.cpp describes, from CTAs that ran. `record` may hold a sample of the
// grid's CTAs; `reachable_bytes`: of the global memory that the launch was given.
SimulatedLaunch simulate_launch(const DeviceProfile& profile, const KernelResources& resources,
                                const LaunchConfig& launch, const Program& program,
                                const Record& record, double reachable_bytes);

}  // namespace fa_tune::emulator
