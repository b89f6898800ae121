#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "engine/device/local/emulated.hpp"
#include "engine/device/local/open.hpp"
#include "tests/kernel_templates/task_bench.hpp"

// Attention with what users need beyond the plain one, on shipped spaces that take it.

namespace fa_tune::test {

inline const std::string kMma =
    R"({"template":"mma","BLOCK_M":32,"BLOCK_N":32,"WARPS_M":2,"WARPS_N":1,"STAGES":2,)"
    R"("LAYOUT":"padded","Q_PLACE":"in_shared","RESCALE":"always","EPILOGUE":"direct",)"
    R"("MIN_BLOCKS":0})";

struct Attention {
  std::string settings;  // lines of YAML
  int kv_heads = 4;      // of 4
  int head_dim = 64;
};

// The shipped space with that problem, and with presets that fit every head dimension.
inline Replacements space_of(const Attention& problem) {
  return {{"shape: {B: 1, H: 8, Lq: 512, Lk: 512, D: 64}\n  causal: false\n  dtype: fp16",
           fmt::format("shape: {{B: 1, H: 4, Hkv: {}, L: 512, D: {}}}\n{}", problem.kv_heads,
                       problem.head_dim, problem.settings)},
          {"BLOCK_M: 128, BLOCK_N: 128, WARPS_M: 4, WARPS_N: 1, STAGES: 1, LAYOUT: swizzled",
           "BLOCK_M: 32, BLOCK_N: 32, WARPS_M: 2, WARPS_N: 1, STAGES: 1, LAYOUT: padded"}};
}

inline Replacements hopper_space_of(const Attention& problem) {
  Replacements change = space_of(problem);
  // Of its presets those for D = 64, changed as follows, stand for every head dimension.
  for (const char* only : {"fa2: {when: problem.D <= 64, ", "fa3: {when: problem.D <= 64, "})
    change.emplace_back(only, std::string(only).substr(0, 6));
  for (const char* other :
       {"fa2_d128", "fa2_d256", "fa3_d128", "fa3_d128_causal", "fa3_d256", "evolved_four"})
    change.emplace_back(std::string("  ") + other + ": {when: ",
                        std::string("  ") + other + ": {when: false and ");
  change.emplace_back("CONSUMERS: 3, BLOCK_N: 128, STAGES: 2",
                      "CONSUMERS: 1, BLOCK_N: 32, STAGES: 2");
  change.emplace_back("PING_PONG: true, RESCALE", "PING_PONG: false, RESCALE");
  change.emplace_back("Q_STAGES: 2, CARRY: false, O_PLACE: own",
                      "Q_STAGES: 1, CARRY: false, O_PLACE: over_q");
  change.emplace_back(
      "  CLUSTER: {",
      "  PACK_HEADS: {values: [false, true], when: \"template == 'wgmma'\"}\n  CLUSTER: {");
  change.emplace_back("PERSISTENT: true, KEY_GROUPS: 1}",
                      "PERSISTENT: true, KEY_GROUPS: 1, PACK_HEADS: false}");
  return change;
}

// `FA_TUNE_TEST_DEVICE` names another device than the target's emulator, such as cuda:0 (leave the
// planted faults out there: -tce="*planted*"). That emulator checks on one thread, as faulty blocks
// may write the same place.
inline std::unique_ptr<device::Device> device_for(const tuner::TuningTask& task) {
  const char* given = std::getenv("FA_TUNE_TEST_DEVICE");
  if (given == nullptr) return device::open_emulator(task.target, 1);
  return device::open_device(given, task.target, root());
}

inline TaskBench bench_of(tuner::TuningTask task) {
  auto device = device_for(task);
  return {std::move(task), std::move(device)};
}

inline TaskBench on_l4(const Attention& problem) {
  return bench_of(task("l4.yaml", space_of(problem)));
}
inline TaskBench on_h100(const Attention& problem) {
  return bench_of(task("h100.yaml", hopper_space_of(problem)));
}

inline TaskBench on_h100_mma(const Attention& problem) {
  return bench_of(task("h100_mma.yaml", space_of(problem)));
}

inline std::string with_packing(bool packed) {
  return kWgmma.substr(0, kWgmma.size() - 1) +
         (packed ? R"(,"PACK_HEADS":true})" : R"(,"PACK_HEADS":false})");
}

}  // namespace fa_tune::test
