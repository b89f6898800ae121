#pragma once

#include <vector>

#include "engine/device/emulator/target/profile.hpp"
#include "engine/device/emulator/timing/l1_cache.hpp"
#include "engine/device/emulator/timing/l2_link.hpp"
#include "engine/device/emulator/timing/pseudo_sass.hpp"
#include "engine/device/emulator/trace/record.hpp"

namespace fa_tune::emulator {

// Bytes that a grid reads and writes beyond L1, and those of them that are different ones.
struct Traffic {
  double read = 0;
  double first = 0;  // of these, what a CTA has not read before
  double written = 0;
  double distinct = 0;
  double bulk = 0;    // of what is read: by bulk copies
  double copied = 0;  // the same, or where there are none, by asynchronous copies
  double unlike = 0;  // standard deviation of CTAs' instructions, of their mean
};

// Bulk copies between L2 and shared memory are a part, those within a cluster are not. A copy that
// several CTAs receive counts once. What L1 has of what loads want comes to no L2. `to_grid`: CTAs of
// the grid for each one of the record; `grid`: the record's counters as many times;
// `reachable_bytes`: of the memory that the launch was given.
Traffic traffic_of(const Program& program, const std::vector<Cost>& costs, const Record& record,
                   double to_grid, const Counters& grid, double reachable_bytes, const L1Reuse& l1);

// Bytes between L2 and DRAM: L2 keeps what is used again while it fits; beyond that, what is used
// once more comes from DRAM. Of these, what a launch moves before it ends.
double dram_bytes(const DeviceProfile& profile, const Traffic& traffic);
double dram_bytes_of_launch(const DeviceProfile& profile, const Traffic& traffic);

// What one of the busy SMs gets of what is in L2, in bytes a clock; and of what DRAM brings a part of.
double l2_bytes_per_clock(const DeviceProfile& profile, const Traffic& traffic, double busy_sms);
double bytes_per_clock(const DeviceProfile& profile, const Traffic& traffic, double busy_sms);
// How much faster than that bulk copies are, of which those of several SMs for the same data meet on
// their way.
BulkGain bulk_gain(const DeviceProfile& profile, const Traffic& traffic, double busy_sms);
// What a byte that is stored takes of bytes_per_clock, beside one that is loaded: DRAM does not care.
double store_cost(const DeviceProfile& profile, const Traffic& traffic, double busy_sms);

// How long L2's slices work if DRAM brings or takes `missed` bytes. Where their peaks are not known:
// `link_us`, for which the way between them and the SMs does.
double l2_us(const DeviceProfile& profile, const Traffic& traffic, double missed, double link_us);

// How often copies bring the same data, on average; at least once. What they do not bring is taken to
// be read once.
double readers_of_copies(const Traffic& traffic);

// The share of DRAM's latency that a copy waits for on average, if L2 did not hold the data. `ctas` (or
// clusters) begin one after the other where one of `slots` is free, and `readers` in a row read the
// same data from its begin to its end. The first of them waits for all of it. Who begins later finds
// it in L2, until it has caught up with the first: from then on both wait for the same. On an H200 it
// is right to 0.14 where an SM holds one CTA; of several, in grids of many waves, it is too much, as
// they drift apart there (microbench_h200_copies.json: 0.64 for 0.27, 0.33 for 0.03).
double share_of_dram_latency(double ctas, double slots, double readers);

}  // namespace fa_tune::emulator
