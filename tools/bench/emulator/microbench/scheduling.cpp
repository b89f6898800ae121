#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "engine/measure/statistics.hpp"
#include "tools/bench/emulator/microbench/microbench.hpp"

// Warps of one partition of an SM that all have products of mma.sync, more than its tensor core takes:
// who goes first, and who waits; and whether bursts of them, with pauses between, keep out of each
// other's way.

namespace fa_tune::bench {
namespace {

constexpr int kNotesOfAWarp = 2;                     // and of each part where it begins and ends
constexpr std::uint32_t kThreadsOfPartitions = 128;  // a warp in each
constexpr std::uint32_t kSharedOfAllCtas = 220 * 1024;

// What a warp issues behind each of its products.
struct Work {
  const char* name;
  const char* step;
};

// A warp's products come in parts. Behind each part the warp pauses: it has FMAs, each of which waits for
// the one before.
struct Parts {
  int number;
  int rounds;      // of a part
  int products;    // of a round, without a branch
  int pauses = 0;  // of kPauseSteps FMAs
};
constexpr int kPauseSteps = 16;
constexpr Parts kWithoutPauses{4, 64, 32};
constexpr Parts kBursts{32, 1, 64, 8};

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
std::string scheduling_source(const Work& work, const Parts& parts, int warps) {
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
  unsigned long long* const notes = times + ({notes} + 2 * {parts}) * rank;
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
  if (lane == 0) {{
    notes[0] = blockIdx.x;
    notes[1] = threadIdx.x / 32;
  }}
  float pausing = scale;
  #pragma unroll 1
  for (int part = 0; part < {parts}; ++part) {{
    const unsigned long long begin = now();
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
    #pragma unroll 1
    for (int i = 0; i < {pauses}; ++i) {{
      #pragma unroll
      for (int u = 0; u < {pause_steps}; ++u)
        asm volatile("fma.rn.f32 %0, %0, %0, %0;" : "+f"(pausing));
    }}
    if (lane == 0) {{
      notes[{notes} + 2 * part] = begin;
      notes[{notes} + 2 * part + 1] = end;
    }}
  }}
  float kept = pausing;
  #pragma unroll
  for (int c = 0; c < 8; ++c)
    for (int i = 0; i < 4; ++i) kept += x[4 * c + i] + sum[c][i] + __uint_as_float(a[c][i]);
  if (kept == 1.2345f) data[3] = 1;
}}
)",
                     fmt::arg("prelude", meeting_prelude()), fmt::arg("warps", warps),
                     fmt::arg("notes", kNotesOfAWarp), fmt::arg("parts", parts.number),
                     fmt::arg("pauses", parts.pauses), fmt::arg("pause_steps", kPauseSteps),
                     fmt::arg("products", parts.products), fmt::arg("step", work.step));
}

// CTAs on the SM, and warps that each has in the partition.
struct Placement {
  int ctas, warps;
};

struct PartOfWarp {
  double begin, end;  // clocks
};

struct NotesOfWarp {
  std::uint64_t cta;
  std::uint64_t warp;
  std::vector<PartOfWarp> parts;
};

// Of the partition's warps, in the order of their CTAs; clocks from when the first one began.
std::vector<NotesOfWarp> noted(Lab& lab, int sms, const Work& work, const Parts& parts,
                               const Placement& placement) {
  const int warps = placement.ctas * placement.warps;
  const auto ctas = static_cast<std::uint32_t>(placement.ctas);
  const Lab::Shape shape = {
      .blocks = ctas == 1 ? 1 : ctas * static_cast<std::uint32_t>(sms),
      .threads = kThreadsOfPartitions * static_cast<std::uint32_t>(placement.warps),
      .shared = kSharedOfAllCtas / ctas,
      .count = parts.rounds};
  const int of_a_warp = kNotesOfAWarp + 2 * parts.number;
  const std::vector<std::uint64_t> words = lab.noted(scheduling_source(work, parts, warps), shape,
                                                     static_cast<std::size_t>(warps * of_a_warp));
  std::uint64_t start = ~std::uint64_t{0};
  for (int warp = 0; warp < warps; ++warp)
    start = std::min(start, words[static_cast<std::size_t>(warp * of_a_warp + kNotesOfAWarp)]);
  std::vector<NotesOfWarp> all;
  for (int warp = 0; warp < warps; ++warp) {
    const std::uint64_t* const at = &words[static_cast<std::size_t>(warp * of_a_warp)];
    NotesOfWarp notes{at[0], at[1], {}};
    for (int part = 0; part < parts.number; ++part) {
      const std::uint64_t* const of_part = at + kNotesOfAWarp + 2 * part;
      notes.parts.push_back(
          {static_cast<double>(of_part[0] - start), static_cast<double>(of_part[1] - start)});
    }
    all.push_back(std::move(notes));
  }
  std::ranges::sort(all, {},
                    [](const NotesOfWarp& each) { return std::pair(each.cta, each.warp); });
  for (std::uint64_t number = 0, last = 0; NotesOfWarp & notes : all) {
    if (&notes != &all.front() && notes.cta != last) ++number;
    last = std::exchange(notes.cta, number);
  }
  return all;
}

// How far each warp is when, where none pauses.
Json progress(Lab& lab, int sms, const Work& work, const Placement& placement) {
  const Parts& parts = kWithoutPauses;
  const std::vector<NotesOfWarp> warps = noted(lab, sms, work, parts, placement);
  double last_begin = 0;
  double whole = 0;
  for (const NotesOfWarp& notes : warps) {
    last_begin = std::max(last_begin, notes.parts.front().begin);
    whole = std::max(whole, notes.parts.back().end);
  }
  Json of = Json::array();
  for (const NotesOfWarp& notes : warps)
    of.push_back({{"cta", notes.cta},
                  {"warp", notes.warp},
                  {"a_quarter_at", thousandths(notes.parts[0].end / whole)},
                  {"half_at", thousandths(notes.parts[1].end / whole)},
                  {"all_at", thousandths(notes.parts.back().end / whole)}});
  const double products =
      1.0 * parts.number * parts.rounds * parts.products * static_cast<double>(warps.size());
  return {{"each_warp_has", work.name},
          {"ctas_of_the_sm", placement.ctas},
          {"warps_of_a_cta", placement.warps},
          {"clocks_a_product", thousandths(whole / products)},
          {"clocks_between_first_and_last_start", last_begin},
          {"share_of_the_time", of}};
}

// When each warp's bursts begin and end, where it pauses behind each.
Json bursts(Lab& lab, int sms, const Work& work, const Placement& placement) {
  constexpr std::size_t kFirstBursts = 6;
  Json of = Json::array();
  for (const NotesOfWarp& notes : noted(lab, sms, work, kBursts, placement)) {
    Json first = Json::array();
    std::vector<double> later;
    for (std::size_t i = 0; i < notes.parts.size(); ++i) {
      const auto& [begin, end] = notes.parts[i];
      if (i < kFirstBursts) first.push_back({begin, end});
      if (i >= notes.parts.size() / 2) later.push_back(end - begin);
    }
    of.push_back({{"cta", notes.cta},
                  {"warp", notes.warp},
                  {"first_begun_and_ended", first},
                  {"clocks_of_a_later_one", measure::median(later)}});
  }
  return {{"each_warp_has", work.name},
          {"ctas_of_the_sm", placement.ctas},
          {"warps_of_a_cta", placement.warps},
          {"products_of_a_burst", kBursts.rounds * kBursts.products},
          {"fma_of_a_pause", kBursts.pauses * kPauseSteps},
          {"bursts", of}};
}

}  // namespace

Json measure_scheduling(Lab& lab, int sms) {
  Json rows = Json::array();
  for (const Work& work : kWorks)
    for (const Placement& placement :
         {Placement{1, 2}, {1, 3}, {1, 4}, {2, 1}, {3, 1}, {4, 1}, {2, 2}})
      rows.push_back(progress(lab, sms, work, placement));
  for (const Work& work : kWorks)
    for (const Placement& placement : {Placement{1, 1}, {1, 2}, {2, 1}, {3, 1}})
      rows.push_back(bursts(lab, sms, work, placement));
  for (const Json& row : rows) fmt::print("{}\n", row.dump());
  return rows;
}

}  // namespace fa_tune::bench
