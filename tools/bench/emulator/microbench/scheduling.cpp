#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tools/bench/emulator/microbench/microbench.hpp"

// Warps of one partition of an SM that all have products of mma.sync, more than its tensor core takes:
// who goes first, and who waits.

namespace fa_tune::bench {
namespace {

constexpr int kProductsOfARound = 32;
constexpr int kRoundsOfAPart = 64;
constexpr int kParts = 4;  // of a warp's products, each with a stamp behind it
constexpr int kNotesOfAWarp = 3 + kParts;
constexpr std::uint32_t kThreadsOfPartitions = 128;  // a warp in each
constexpr std::uint32_t kSharedOfAllCtas = 220 * 1024;

// What a warp issues behind each of its products.
struct Work {
  const char* name;
  const char* step;
};

// The matrices that ldmatrix loads are multiplied eight products later.
constexpr std::array kWorks = {
    Work{"products", ""},
    Work{"products, as many fma.f32",
         R"(asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(x[c]) : "f"(scale));)"},
    Work{"products, four times as many fma.f32",
         R"(asm volatile("fma.rn.f32 %0, %0, %4, %4; fma.rn.f32 %1, %1, %4, %4;"
               "fma.rn.f32 %2, %2, %4, %4; fma.rn.f32 %3, %3, %4, %4;"
               : "+f"(x[c]), "+f"(x[8 + c]), "+f"(x[16 + c]), "+f"(x[24 + c]) : "f"(scale));)"},
    Work{"products, as many ldmatrix.x4",
         R"(asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(a[c][0]), "=r"(a[c][1]), "=r"(a[c][2]), "=r"(a[c][3])
               : "r"(base + lane * 16));)"},
};

// Warps of the SM that has block 0, in one of its partitions. The grid has as many CTAs as the GPU has
// room for, so that each SM has as many as its shared memory lets it have. An emulator, of which all
// SMs are one, has more: those are left out.
std::string scheduling_source(const Work& work, int warps) {
  return fmt::format(R"(
__device__ volatile unsigned place;
__device__ unsigned ranks;
{prelude}
  unsigned sm, slot;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  asm volatile("mov.u32 %0, %%warpid;" : "=r"(slot));
  for (int i = threadIdx.x; i < 128; i += blockDim.x) shared[i] = data[i];
  if (blockIdx.x == 0 && threadIdx.x == 0) {{
    place = sm;
    ranks = 0;
  }}
  const unsigned long long start = meet();
  if (sm != place || slot % 4 != 0) return;
  unsigned rank = lane == 0 ? atomicAdd(&ranks, 1) : 0;
  rank = __shfl_sync(0xffffffff, rank, 0);
  if (rank >= {warps}) return;
  unsigned long long* const notes = times + {notes} * rank;
  unsigned a[8][4], b[2] = {{data[5], data[6]}};
  float sum[8][4], x[32];
  const float scale = __uint_as_float(data[7]);
  #pragma unroll
  for (int c = 0; c < 8; ++c) {{
    for (int i = 0; i < 4; ++i) x[4 * c + i] = 0.0f;
    for (int i = 0; i < 4; ++i) a[c][i] = data[8 + 4 * c + i];
    for (int i = 0; i < 4; ++i) sum[c][i] = 0.0f;
  }}
  wait_until(start);
  const unsigned long long begin = now();
  if (lane == 0) {{
    notes[0] = blockIdx.x;
    notes[1] = threadIdx.x / 32;
    notes[2] = begin;
  }}
  #pragma unroll 1
  for (int part = 0; part < {parts}; ++part) {{
    #pragma unroll 1
    for (int i = 0; i < count; ++i) {{
      #pragma unroll
      for (int u = 0; u < {products}; ++u) {{
        const int c = u % 8;
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                     "{{%0,%1,%2,%3}}, {{%4,%5,%6,%7}}, {{%8,%9}}, {{%0,%1,%2,%3}};"
                     : "+f"(sum[c][0]), "+f"(sum[c][1]), "+f"(sum[c][2]), "+f"(sum[c][3])
                     : "r"(a[c][0]), "r"(a[c][1]), "r"(a[c][2]), "r"(a[c][3]), "r"(b[0]),
                       "r"(b[1]));
        {step}
      }}
    }}
    const unsigned long long end = now();
    if (lane == 0) notes[3 + part] = end;
  }}
  float kept = 0.0f;
  #pragma unroll
  for (int c = 0; c < 8; ++c)
    for (int i = 0; i < 4; ++i) kept += x[4 * c + i] + sum[c][i] + __uint_as_float(a[c][i]);
  if (kept == 1.2345f) data[3] = 1;
}}
)",
                     fmt::arg("prelude", meeting_prelude()), fmt::arg("warps", warps),
                     fmt::arg("notes", kNotesOfAWarp), fmt::arg("parts", kParts),
                     fmt::arg("products", kProductsOfARound), fmt::arg("step", work.step));
}

// CTAs on the SM, and warps that each has in the partition.
struct Placement {
  int ctas, warps;
};

Json progress(Lab& lab, int sms, const Work& work, const Placement& placement) {
  const int warps = placement.ctas * placement.warps;
  const auto ctas = static_cast<std::uint32_t>(placement.ctas);
  const Lab::Shape shape = {
      .blocks = ctas == 1 ? 1 : ctas * static_cast<std::uint32_t>(sms),
      .threads = kThreadsOfPartitions * static_cast<std::uint32_t>(placement.warps),
      .shared = kSharedOfAllCtas / ctas,
      .count = kRoundsOfAPart};
  const std::vector<std::uint64_t> noted = lab.noted(
      scheduling_source(work, warps), shape, static_cast<std::size_t>(warps * kNotesOfAWarp));
  std::vector<std::array<std::uint64_t, kNotesOfAWarp>> of_warps(static_cast<std::size_t>(warps));
  for (std::size_t i = 0; i < noted.size(); ++i)
    of_warps[i / kNotesOfAWarp][i % kNotesOfAWarp] = noted[i];
  std::ranges::sort(of_warps);
  std::uint64_t begin = of_warps[0][2];
  std::uint64_t last_begin = begin;
  std::uint64_t end = 0;
  for (const auto& notes : of_warps) {
    begin = std::min(begin, notes[2]);
    last_begin = std::max(last_begin, notes[2]);
    end = std::max(end, notes[2 + kParts]);
  }
  const auto whole = static_cast<double>(end - begin);
  Json of = Json::array();
  int cta = 0;
  for (std::size_t i = 0; i < of_warps.size(); ++i) {
    const auto& notes = of_warps[i];
    if (i > 0 && notes[0] != of_warps[i - 1][0]) ++cta;
    const auto share = [&](std::size_t parts) {
      return std::round(1e3 * static_cast<double>(notes[2 + parts] - begin) / whole) / 1e3;
    };
    of.push_back({{"cta", cta},
                  {"warp", notes[1]},
                  {"a_quarter_at", share(1)},
                  {"half_at", share(2)},
                  {"all_at", share(kParts)}});
  }
  const double products = 1.0 * kParts * kRoundsOfAPart * kProductsOfARound * warps;
  return {{"each_warp_has", work.name},
          {"ctas_of_the_sm", placement.ctas},
          {"warps_of_a_cta", placement.warps},
          {"clocks_a_product", std::round(1e3 * whole / products) / 1e3},
          {"clocks_between_first_and_last_start", last_begin - begin},
          {"share_of_the_time", of}};
}

}  // namespace

Json measure_scheduling(Lab& lab, int sms) {
  Json rows = Json::array();
  for (const Work& work : kWorks)
    for (const Placement& placement :
         {Placement{1, 2}, {1, 3}, {1, 4}, {2, 1}, {3, 1}, {4, 1}, {2, 2}}) {
      const Json row = progress(lab, sms, work, placement);
      fmt::print("{}\n", row.dump());
      rows.push_back(row);
    }
  return rows;
}

}  // namespace fa_tune::bench
