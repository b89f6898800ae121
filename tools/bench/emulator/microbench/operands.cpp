#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "tools/bench/emulator/microbench/microbench.hpp"

// Products of mma.sync beside what other warps of the same partition issue: both read their operands
// from its registers.

namespace fa_tune::bench {
namespace {

constexpr std::array<std::string_view, 5> kOtherInstructions = {"add.f32", "mad.lo", "max+min",
                                                                "cvt.f16x2.f32", "ex2.f32"};
constexpr int kWarpsOfEach = 2;  // a partition: of products, and as many of others
constexpr int kPartitionsOfAnSm = 4;
constexpr int kSumsOfAWarp = 8;  // that a warp's products add to in turn
constexpr int kProductsARound = 32;
constexpr int kChainsOfOthers = 16;
constexpr int kStepsARound = 64;

enum class Ends { products, others };

// The first half of the warps makes products in rounds of kProductsARound, the others do kStepsARound
// steps a round. One side makes `count` rounds, the other goes on until that is done, or does nothing.
std::string operands_source(const Instruction& beside, Ends ends, bool both) {
  const auto goes_on = [&](Ends side) {
    return ends == side ? "i < count" : both ? "over == 0" : "false";
  };
  return fmt::format(
      R"(
__device__ volatile int over;
{prelude}
  if (threadIdx.x == 0) over = 0;
  __syncthreads();
  const unsigned long long ns = nanoseconds();
  const unsigned long long begin = now();
  unsigned kept = 0;
  if (threadIdx.x < {half}) {{
    unsigned p[4], q[{sums}][2];
    float sum[{sums}][4];
    #pragma unroll
    for (int i = 0; i < 4; ++i) p[i] = data[8 + i + lane];
    #pragma unroll
    for (int c = 0; c < {sums}; ++c) {{
      q[c][0] = data[16 + c + lane];
      q[c][1] = data[48 + c + lane];
      for (int i = 0; i < 4; ++i) sum[c][i] = 0.0f;
    }}
    #pragma unroll 1
    for (int i = 0; {products_go_on}; ++i) {{
      #pragma unroll
      for (int u = 0; u < {products}; ++u) {{
        float (&s)[4] = sum[u % {sums}];
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                     "{{%0,%1,%2,%3}}, {{%4,%5,%6,%7}}, {{%8,%9}}, {{%0,%1,%2,%3}};"
                     : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3])
                     : "r"(p[0]), "r"(p[1]), "r"(p[2]), "r"(p[3]), "r"(q[u % {sums}][0]),
                       "r"(q[u % {sums}][1]));
      }}
    }}
    #pragma unroll
    for (int c = 0; c < {sums}; ++c)
      for (int i = 0; i < 4; ++i) kept += __float_as_uint(sum[c][i]);
    if ({products_end}) over = 1;
  }} else {{
    {others}
    if (!{products_end}) over = 1;
  }}
  note(times, begin, now(), ns);
  if (kept == 0x12345678) data[3] = kept;
}}
)",
      fmt::arg("prelude", kernel_prelude()),
      fmt::arg("half", 32 * kPartitionsOfAnSm * kWarpsOfEach), fmt::arg("sums", kSumsOfAWarp),
      fmt::arg("products", kProductsARound), fmt::arg("products_go_on", goes_on(Ends::products)),
      fmt::arg("products_end", ends == Ends::products ? "true" : "false"),
      fmt::arg("others",
               rounds_source(beside, kChainsOfOthers, kStepsARound, goes_on(Ends::others))));
}

// Clocks of a partition for one product, or for one of the others.
double operand_clocks(Lab& lab, const Instruction& beside, Ends ends, bool both, int rounds) {
  const Lab::Shape shape = {
      .blocks = 1, .threads = 64 * kPartitionsOfAnSm * kWarpsOfEach, .count = rounds};
  const int each = ends == Ends::products ? kProductsARound : kStepsARound * beside.per_step;
  const double all = lab.clocks(operands_source(beside, ends, both), shape);
  return std::round(100 * all / rounds / each / kWarpsOfEach) / 100;
}

}  // namespace

Json measure_operands(Lab& lab) {
  Json rows = Json::array();
  for (const Instruction& beside : instructions()) {
    if (std::ranges::find(kOtherInstructions, beside.name) == kOtherInstructions.end()) continue;
    constexpr int kRounds = 500;
    // Additions leave products little more than the ends of their rounds.
    constexpr int kFewRounds = 4;
    rows.push_back(
        {{"beside", beside.name},
         {"clocks_alone", operand_clocks(lab, beside, Ends::others, false, kRounds)},
         {"clocks_beside_products", operand_clocks(lab, beside, Ends::others, true, kRounds)},
         {"clocks_a_product_alone", operand_clocks(lab, beside, Ends::products, false, kRounds)},
         {"clocks_a_product_beside",
          operand_clocks(lab, beside, Ends::products, true,
                         beside.name == "add.f32" ? kFewRounds : kRounds)}});
  }
  fmt::print("products of mma.sync beside other instructions: {}\n", rows.dump(1));
  return rows;
}

}  // namespace fa_tune::bench
