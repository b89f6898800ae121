#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "engine/device/emulator/decode/loader.hpp"
#include "engine/device/emulator/exec/grid.hpp"
#include "engine/device/emulator/prediction/prediction.hpp"
#include "tests/engine/device/emulator/support.hpp"

namespace fa_tune::test {

// Registers, and shared memory `s`.
inline constexpr const char* kClockDeclarations =
    ".reg .b32 %r<40>; .reg .f32 %f<40>; .reg .b64 %rd<20>; .reg .pred %p<4>;\n"
    ".shared .align 16 .b8 s[16384];\n";

// A kernel after a counting run. Its one parameter `out` points at a megabyte.
struct CountedRun {
  // `body` begins with its declarations; `cluster` is in blocks. All are counted unless there is a
  // sample.
  CountedRun(const std::string& body, emulator::TensorRule rule, std::uint32_t threads,
             std::uint32_t blocks, std::uint32_t cluster = 1,
             const emulator::Sampling& sample = {}) {
    const auto& allocation = memory.allocate(1 << 20);
    auto loaded = emulator::load_program(test::kernel(".param .u64 out", body), "k", rule, memory);
    const std::string message = loaded ? "" : loaded.error().message;
    REQUIRE(message == "");
    program = std::move(*loaded);
    std::vector<std::byte> parameters(8);
    std::memcpy(parameters.data(), &allocation.address, 8);
    emulator::LaunchContext context;
    context.program = &program;
    context.parameters = parameters;
    context.memory = &memory;
    context.budget = 1'000'000;
    context.config.grid.x = blocks;
    context.config.block.x = threads;
    context.config.cluster.x = cluster;
    launch = context.config;
    const auto diagnostic = sample.clusters.empty()
                                ? emulator::run_grid(context, 1, &record)
                                : emulator::run_sampled(context, 1, sample, record).diagnostic;
    const std::string what = diagnostic ? diagnostic->message : "";
    REQUIRE(what == "");
  }

  emulator::Prediction time(const emulator::DeviceProfile& profile,
                            const emulator::KernelResources& resources = {}) const {
    return emulator::predict(profile, resources, launch, program, record, 1 << 20);
  }

  emulator::GlobalMemory memory;
  emulator::Program program;
  emulator::Record record;
  emulator::LaunchConfig launch;
};

inline std::string many(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

}  // namespace fa_tune::test
