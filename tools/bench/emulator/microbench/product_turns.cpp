#include <array>
#include <cstddef>
#include <vector>

#include <fmt/core.h>

#include "engine/measure/statistics.hpp"
#include "tools/bench/emulator/microbench/microbench.hpp"
#include "tools/bench/emulator/microbench/products.hpp"

// Whose products run first where several warpgroups ask for a group of them, and which of their warps
// stand at the next one meanwhile.

namespace fa_tune::bench {
namespace {

constexpr int kTurnsAhead = 1000;  // clocks, in which all warps learn when to begin
constexpr int kTurnsRounds = 32;
constexpr std::size_t kNotesOfARound = 3;  // of a warp

// Warpgroup w asks for a group of products `apart` clocks after the one before, `count` times. Noted
// for each warp and round, in clocks from when the first one was to begin: when it began, when its last
// product was issued, when all were done.
std::string turns_source(int columns, bool from_registers, int per_group, int apart) {
  return fmt::format(
      R"(
{prelude}
  {operands}
  {zero_sums}
  __shared__ volatile unsigned long long start;
  #pragma unroll 1
  for (int i = 0; i < count; ++i) {{
    __syncthreads();
    if (threadIdx.x == 0) start = now() + {ahead};
    __syncthreads();
    const unsigned long long first = start;
    const unsigned long long own = first + threadIdx.x / 128 * {apart};
    while (now() < own) {{}}
    __syncwarp();
    const unsigned long long begin = now();
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    #pragma unroll
    for (int u = 0; u < {per_group}; ++u) {{ {product} }}
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    const unsigned long long issued = now();
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    const unsigned long long done = now();
    unsigned long long* const notes = times + 3 * (i * (blockDim.x / 32) + threadIdx.x / 32);
    if (lane == 0) {{
      notes[0] = begin - first;
      notes[1] = issued - first;
      notes[2] = done - first;
    }}
  }}
  unsigned kept = 0;
  {keep_sums}
  if (kept == 0x12345678) data[3] = kept;
}}
)",
      fmt::arg("prelude", kernel_prelude()), fmt::arg("operands", kOperands),
      fmt::arg("zero_sums", zero_sums(columns)), fmt::arg("keep_sums", keep_sums(columns)),
      fmt::arg("ahead", kTurnsAhead), fmt::arg("apart", apart), fmt::arg("per_group", per_group),
      fmt::arg("product", product(columns, from_registers)));
}

}  // namespace

Json measure_product_turns(Lab& lab) {
  Json rows = Json::array();
  for (const auto& [name, columns, from_registers] : kProductForms)
    for (const std::uint32_t warpgroups : {2U, 3U})
      for (const int per_group : {kProducts, 2 * kProducts})
        for (const int apart : {0, 40, 100, 200, 400}) {
          if (warpgroups == 3 && apart > 100) continue;
          const std::size_t notes = 4 * warpgroups * kNotesOfARound;
          const std::vector<std::uint64_t> noted =
              lab.noted(turns_source(columns, from_registers, per_group, apart),
                        shape(warpgroups, kTurnsRounds), notes * kTurnsRounds);
          Json warps = Json::array();
          for (std::size_t i = 0; i < notes; ++i) {
            std::vector<double> rounds;
            for (int round = 0; round < kTurnsRounds; ++round)
              rounds.push_back(
                  static_cast<double>(noted[notes * static_cast<std::size_t>(round) + i]));
            if (i % kNotesOfARound == 0) warps.push_back(Json::array());
            warps.back().push_back(measure::median(rounds));
          }
          rows.push_back({{"products", name},
                          {"warpgroups", warpgroups},
                          {"of_a_group", per_group},
                          {"apart", apart},
                          {"begun_issued_done_of_each_warp", warps}});
          fmt::print("{}\n", rows.back().dump());
        }
  return rows;
}

}  // namespace fa_tune::bench
