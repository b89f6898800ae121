#include "engine/device/emulator/prediction/kernel_features.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace fa_tune::emulator {
namespace {

// In the order in which kernel_features() puts them together.
constexpr std::array<std::string_view, 37> kNames = {
    // Of the time after the launch.
    "busy fma", "busy alu", "busy special", "busy tensor", "busy shared memory", "busy control",
    "busy issue", "busy l2", "memory alone", "end",
    // Of all that a warp waits.
    "waits arithmetic", "waits tensor cores", "waits shared memory", "waits global memory",
    "waits async copies", "waits barriers", "waits busy unit", "waits scheduler",
    // ln of a ratio; a part of the clock; ln of us.
    "order", "clock loss", "time",
    // The grid: ln of rounds, the part of the last one; an SM's warps and blocks; a block's warps, and
    // a thread's registers.
    "rounds", "last round", "warps an SM", "blocks an SM", "warps a block", "registers",
    // Bytes an SM and clock; ln of copies.
    "bulk bytes a clock", "bulk copies a block",
    // ln of flop, of products, of warp instructions; wavefronts a 10,000 flop.
    "flop a product", "products a warp", "instructions a flop", "wavefronts a flop",
    // Of warp instructions.
    "alu instructions", "shuffles", "barrier instructions", "asynchronous waits"};

constexpr std::array<std::string_view, 8> kUnits = {"fma",           "alu",     "special", "tensor",
                                                    "shared memory", "control", "issue",   "l2"};
constexpr std::array<std::string_view, 8> kWaits = {
    "arithmetic",   "tensor cores", "shared memory", "global memory",
    "async copies", "barriers",     "busy unit",     "scheduler"};

double us_of(const std::vector<Part>& parts, std::string_view name) {
  const auto found = std::ranges::find(parts, name, &Part::name);
  return found == parts.end() ? 0 : found->us;
}

}  // namespace

std::span<const std::string_view> kernel_feature_names() { return kNames; }

std::vector<double> kernel_features(const SimulatedLaunch& simulated,
                                    const KernelResources& resources) {
  const Counters& counters = simulated.counters;
  const double running_us = simulated.us - simulated.launch_us;
  if (counters.tensor == 0 || counters.tensor_flop == 0 || running_us <= 0) return {};
  const double instructions = real(counters.warp_instructions);
  const double flop = real(counters.tensor_flop);
  const double blocks = std::max(real(counters.blocks), 1.0);
  const double warps = std::max(real(counters.warps), 1.0);
  const double rounds = std::max(simulated.rounds, 1.0);
  double waited_us = 0;
  for (const Part& wait : simulated.waits) waited_us += wait.us;
  std::vector<double> features;
  features.reserve(kNames.size());
  for (const std::string_view unit : kUnits)
    features.push_back(us_of(simulated.units, unit) / running_us);
  features.push_back(simulated.memory_us / running_us);
  features.push_back(simulated.end_us / running_us);
  for (const std::string_view wait : kWaits)
    features.push_back(us_of(simulated.waits, wait) / std::max(waited_us, 1e-9));
  features.insert(
      features.end(),
      {std::log(simulated.order_ratio), simulated.clock_loss, std::log(running_us),
       std::log(rounds), rounds - std::floor(rounds), double(simulated.held.warps_per_sm),
       double(simulated.held.blocks_per_sm), warps / blocks, double(resources.registers),
       simulated.bulk_bytes_per_clock, std::log1p(real(counters.bulk_copies) / blocks),
       std::log(flop / real(counters.tensor)), std::log(real(counters.tensor) / warps),
       std::log(instructions / flop), real(counters.shared_wavefronts) / flop * 1e4,
       real(counters.alu) / instructions, real(counters.shuffle) / instructions,
       real(counters.barriers) / instructions, real(counters.async_waits) / instructions});
  return features;
}

}  // namespace fa_tune::emulator
