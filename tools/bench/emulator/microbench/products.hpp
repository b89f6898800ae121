#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include <fmt/format.h>

#include "tools/bench/emulator/microbench/microbench.hpp"

// CUDA text of warpgroups' products (wgmma), for kernels of kernel_prelude().

namespace fa_tune::bench {

inline constexpr int kProducts = 8;  // a group
inline constexpr std::uint32_t kWarpgroupShared = 96 * 1024;
inline constexpr std::uint32_t kWarpgroup = 128;

// Name, columns, whether A is in registers.
inline constexpr std::tuple<const char*, int, bool> kProductForms[] = {
    {"n64 shared", 64, false}, {"n128 shared", 128, false}, {"n128 registers", 128, true}};

// Of product(): A's registers, or the matrix that A and B are.
inline constexpr const char* kOperands =
    "const unsigned a0 = data[1];\n"
    "const unsigned long long matrix =\n"
    "    (base & 0x3ffff) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 62;";

// A thread's sums of products, before the first and behind the last.
inline std::string zero_sums(int columns) {
  return fmt::format(
      "float sums[{0}];\n#pragma unroll\nfor (int i = 0; i < {0}; ++i) sums[i] = 0.0f;",
      columns / 2);
}
inline std::string keep_sums(int columns) {
  return fmt::format(
      "\n#pragma unroll\nfor (int i = 0; i < {}; ++i) kept += __float_as_uint(sums[i]);",
      columns / 2);
}

inline Lab::Shape shape(std::uint32_t warpgroups, int count) {
  return {1, warpgroups * kWarpgroup, kWarpgroupShared, count, "a"};
}

// A product m64nNk16 of halves into `sums`; A from registers, or as B from shared memory.
inline std::string product(int columns, bool from_registers) {
  const int sums = columns / 2;
  std::string outputs;
  std::string names;
  for (int i = 0; i < sums; ++i) {
    outputs += fmt::format("{}\"+f\"(sums[{}])", i == 0 ? "" : ", ", i);
    names += fmt::format("{}%{}", i == 0 ? "" : ", ", i);
  }
  const std::string a =
      from_registers ? fmt::format("{{%{}, %{}, %{}, %{}}}", sums, sums + 1, sums + 2, sums + 3)
                     : fmt::format("%{}", sums);
  const int b = sums + (from_registers ? 4 : 1);
  const char* inputs = from_registers ? R"("r"(a0), "r"(a0), "r"(a0), "r"(a0), "l"(matrix))"
                                      : R"("l"(matrix), "l"(matrix))";
  return fmt::format(
      "asm volatile(\"wgmma.mma_async.sync.aligned.m64n{}k16.f32.f16.f16 {{{}}}, {}, %{}, 1, 1, "
      "1{}, 0;\" : {} : {});",
      columns, names, a, b, from_registers ? "" : ", 0", outputs, inputs);
}

}  // namespace fa_tune::bench
