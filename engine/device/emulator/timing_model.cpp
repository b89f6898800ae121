// A time from counts. The model, in clocks of one SM:
//
// The grid is dealt evenly; the busiest SM runs n = ceil(blocks / SMs) of the blocks, which for a
// grid smaller than the chip is 1, and for an uneven last wave one more than the others. Of these
// it holds as many at once as the occupancy says, and so needs ceil(n / resident) rounds.
//
// Two bounds follow.
//   Throughput: each pipe's work of n blocks over that pipe's rate. Tensor cores, arithmetic and
//   issue belong to the four partitions of an SM, so that fewer than four resident warps reach only
//   a part of them. Shared memory and the way to L2 belong to the whole SM; DRAM to the whole chip.
//   Chain: what one warp needs alone on its partition, times the rounds. Alone, a warp keeps one
//   pipe busy at a time with little overlap (half of what is not the longest part is taken as
//   hidden behind it), and waits for latencies: shared and global loads by Little's law with the
//   accesses that a tuned kernel keeps in flight, barriers and waits in full. Work on the pipes of
//   other warps hides this: it is a bound, and is not added.
// Neither bound is reached when the two are near, for then the warps are too few to fill every gap.
// The fourth-power mean of all bounds says so smoothly: alone a bound counts as itself, two equal
// ones as 1.19 times either. It grows with each of them, so more work never costs less.
//
// Launch time is added at the end: it is the cost of an empty kernel.
//
// The constants below are estimates. Three of them were moved once, by hand, towards four times
// measured on an H100; nothing has been fitted to a set of variants, and no check independent of
// those four has been made.

#include "engine/device/emulator/timing_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <nlohmann/json.hpp>

namespace fa_tune::emulator {

namespace {

constexpr double kWarpThreads = 32;
constexpr double kPartitions = 4;
constexpr double kSectorBytes = 32;
constexpr double kWavefrontBytes = 128;

// Of the simple integer instructions and moves that PTX names, ptxas keeps about half.
constexpr double kAluKept = 0.5;
// What one warp keeps in flight: 32-byte sectors of global loads, wavefronts of shared memory.
constexpr double kSectorsInFlight = 192;
constexpr double kWavefrontsInFlight = 16;
// One instruction in so many waits in full for the one before it.
constexpr double kArithmeticPerWait = 8;
constexpr double kSpecialPerWait = 16;
constexpr double kTensorPerWait = 16;
// The share of L2's latency that a wait for asynchronous copies still finds ahead of it.
constexpr double kLatencyLeftAtWait = 0.5;
// Of the parts of a lone warp's chain that are not the longest, this share is not hidden behind it.
constexpr double kSerialShare = 0.5;
constexpr double kMeanPower = 3;
// Between a block that leaves an SM and the first instruction of the next.
constexpr double kBlockStartClocks = 300;

// A device with a rate of zero has no such pipe in its profile: no bound.
double clocks(double work, double rate) { return rate > 0 ? work / rate : 0; }

struct Part {
  const char* name;
  double clocks;
};

// The work of one warp, or of one block: counts of the grid, divided.
struct Work {
  double tensor_flop, tensor, fma, alu, special, convert, half, issue;
  double wavefronts, sectors_read, sectors_written, barriers, waits;
};

double real(std::uint64_t count) { return static_cast<double>(count); }

Work work_per(const Counters& c, const KernelResources& resources, double units, double warps) {
  // Spills are in the machine code alone, out of sight of an emulator of PTX. Their number of
  // executions is not known either: once each time round the main loop, of which a barrier is the
  // sign.
  const double spilled_words =
      (std::max(resources.spill_store_bytes, 0) + std::max(resources.spill_load_bytes, 0)) / 4.0;
  const double spills = spilled_words * std::max(warps, real(c.barriers));
  Work work{};
  work.tensor_flop = real(c.tensor_flop) / units;
  work.tensor = real(c.tensor) / units;
  work.fma = real(c.fma_f32) / units;
  work.alu = kAluKept * real(c.alu) / units;
  work.special = real(c.special) / units;
  work.convert = real(c.convert) / units;
  work.half = real(c.half) / units;
  // Never below the sum of the kinds, should a caller have filled in only those.
  const double kinds = real(c.tensor + c.fma_f32 + c.half + c.special + c.convert + c.control +
                            c.shuffle + c.load_store) +
                       kAluKept * real(c.alu);
  const double total = real(c.warp_instructions) - (1 - kAluKept) * real(c.alu);
  work.issue = (std::max(kinds, total) + spills) / units;
  // Local memory is in L1, whose data path is shared memory's, and shuffles take that path too:
  // each of their instructions is a wavefront.
  work.wavefronts =
      (real(c.shared_wavefronts) + real(c.local_accesses) + real(c.shuffle) + spills) / units;
  work.sectors_read = real(c.global_sectors_read) / units;
  work.sectors_written = real(c.global_sectors_written) / units;
  work.barriers = real(c.barriers) / units;
  work.waits = real(c.async_waits) / units;
  return work;
}

// How long each pipe works on `work` if `share` of the SM's partitions take part.
std::vector<Part> pipe_clocks(const DeviceProfile& p, const Work& work, double share) {
  const auto lanes = [&](double instructions, double rate) {
    return clocks(instructions * kWarpThreads, rate * share);
  };
  return {
      {"tensor", clocks(work.tensor_flop, p.tensor_f16_flop_per_clock_sm * share)},
      {"fma", lanes(work.fma, p.fma_f32_per_clock_sm)},
      {"alu", lanes(work.alu, p.alu_int_per_clock_sm)},
      {"special", lanes(work.special, p.special_per_clock_sm)},
      {"convert", lanes(work.convert, p.convert_per_clock_sm)},
      {"half", lanes(work.half, p.half_per_clock_sm)},
      {"shared memory", clocks(work.wavefronts * kWavefrontBytes, p.shared_bytes_per_clock_sm)},
      {"l2",
       clocks((work.sectors_read + work.sectors_written) * kSectorBytes, p.l2_bytes_per_clock_sm)},
  };
}

// One warp, one after the other: its pipes, and what it waits for.
std::vector<Part> chain_clocks(const DeviceProfile& p, const Work& warp) {
  std::vector<Part> parts = pipe_clocks(p, warp, 1 / kPartitions);
  const double waits =
      (warp.fma + warp.alu + warp.convert + warp.half) * p.arithmetic_latency / kArithmeticPerWait +
      warp.special * p.special_latency / kSpecialPerWait +
      warp.tensor * p.tensor_latency / kTensorPerWait;
  parts.push_back({"instruction latency", waits});
  parts.push_back({"shared latency", warp.wavefronts * p.shared_latency / kWavefrontsInFlight});
  parts.push_back({"global latency", warp.sectors_read * p.l2_latency / kSectorsInFlight +
                                         warp.waits * p.l2_latency * kLatencyLeftAtWait});
  parts.push_back({"barriers", warp.barriers * p.barrier_latency});
  return parts;
}

double serial(const std::vector<Part>& parts) {
  double sum = 0;
  double longest = 0;
  for (const Part& part : parts) {
    sum += part.clocks;
    longest = std::max(longest, part.clocks);
  }
  return longest + kSerialShare * (sum - longest);
}

// Bytes that DRAM moves. A kernel is timed over and over on the same data, so what fits in L2 stays
// there. Of what is beyond, writes go to DRAM once; reads may be common to all blocks that run
// together (DRAM sees them once) or to none (once a block): the middle of the two, on a scale of
// factors, is taken.
double dram_bytes(const DeviceProfile& p, const Counters& c, double blocks_together) {
  const double read = real(c.global_sectors_read) * kSectorBytes;
  const double written = real(c.global_sectors_written) * kSectorBytes;
  const double all = read + written;
  if (all <= 0) return 0;
  const double beyond = std::max(0.0, 1 - static_cast<double>(p.l2_bytes) / all);
  return beyond * (written + read / std::sqrt(std::max(blocks_together, 1.0)));
}

nlohmann::ordered_json counters_json(const Counters& c) {
  return {{"warp_instructions", c.warp_instructions},
          {"tensor", c.tensor},
          {"fma_f32", c.fma_f32},
          {"half", c.half},
          {"alu", c.alu},
          {"special", c.special},
          {"convert", c.convert},
          {"control", c.control},
          {"shuffle", c.shuffle},
          {"load_store", c.load_store},
          {"tensor_flop", c.tensor_flop},
          {"shared_wavefronts", c.shared_wavefronts},
          {"shared_wavefronts_ideal", c.shared_wavefronts_ideal},
          {"global_sectors_read", c.global_sectors_read},
          {"global_sectors_written", c.global_sectors_written},
          {"local_accesses", c.local_accesses},
          {"barriers", c.barriers},
          {"async_copies", c.async_copies},
          {"async_waits", c.async_waits},
          {"divergent", c.divergent},
          {"blocks", c.blocks},
          {"warps", c.warps}};
}

// Three decimals are a nanosecond: more would feign a precision that no model has.
double rounded(double us) { return std::round(us * 1000) / 1000; }

nlohmann::ordered_json parts_json(const std::vector<Part>& parts, double us_per_clock) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const Part& part : parts) object[part.name] = rounded(part.clocks * us_per_clock);
  return object;
}

}  // namespace

Prediction predict(const DeviceProfile& profile, const KernelResources& resources,
                   const LaunchConfig& launch, const Counters& counters) {
  const Occupancy held = occupancy(profile, resources, launch);
  const double blocks = std::max(real(launch.grid.count()), 1.0);
  const double warps_per_block =
      std::max(std::ceil(real(launch.block.count()) / kWarpThreads), 1.0);
  const double sms = std::max(profile.sms, 1);
  const double resident = std::max(held.blocks_per_sm, 1);
  const double on_busiest = std::ceil(blocks / sms);
  const double rounds = std::ceil(on_busiest / resident);
  const double warps = blocks * warps_per_block;

  Work busiest = work_per(counters, resources, blocks / on_busiest, warps);
  const double share = std::min(resident * warps_per_block, kPartitions) / kPartitions;
  std::vector<Part> bounds = pipe_clocks(profile, busiest, share);
  bounds.push_back({"issue", clocks(busiest.issue, profile.issue_per_clock_sm * share)});
  const double bytes_per_clock = clocks(profile.dram_gb_per_s * 1e3, profile.clock_mhz);
  const double blocks_together = std::min(blocks, sms * resident);
  bounds.push_back(
      {"dram", clocks(dram_bytes(profile, counters, blocks_together), bytes_per_clock)});

  const Work warp = work_per(counters, resources, warps, warps);
  const std::vector<Part> chain = chain_clocks(profile, warp);
  const double turnover = (rounds - 1) * kBlockStartClocks;
  bounds.push_back({"latency", rounds * serial(chain) + turnover});

  double sum = 0;
  const Part* longest = bounds.data();
  for (const Part& bound : bounds) {
    sum += std::pow(bound.clocks, kMeanPower);
    if (bound.clocks > longest->clocks) longest = &bound;
  }
  const double us_per_clock = clocks(1, profile.clock_mhz);
  const double running_us = std::pow(sum, 1 / kMeanPower) * us_per_clock;

  Prediction prediction;
  prediction.us = profile.launch_us + running_us;
  prediction.bound_by = running_us < profile.launch_us ? "launch" : longest->name;
  const nlohmann::ordered_json detail = {
      {"us", rounded(prediction.us)},
      {"bound_by", prediction.bound_by},
      {"launch_us", profile.launch_us},
      {"occupancy",
       {{"blocks_per_sm", held.blocks_per_sm},
        {"warps_per_sm", held.warps_per_sm},
        {"limited_by", held.limited_by},
        {"blocks_on_busiest_sm", on_busiest},
        {"rounds", rounds}}},
      {"bounds_us", parts_json(bounds, us_per_clock)},
      {"one_warp_us", parts_json(chain, us_per_clock)},
      {"counters", counters_json(counters)},
  };
  prediction.detail_json = detail.dump();
  return prediction;
}

}  // namespace fa_tune::emulator
