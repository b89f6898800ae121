#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "tools/bench/emulator/microbench/microbench.hpp"
#include "tools/bench/emulator/microbench/products.hpp"

// What a warpgroup's products (wgmma) take, and what other instructions of the same SM partitions
// take beside them: sums are read from and written to the registers that those use too. And how
// products and other instructions of the same warps go together.

namespace fa_tune::bench {
namespace {

constexpr std::array<std::string_view, 6> kBeside = {"fma.f32",       "add.f32", "ex2.f32",
                                                     "cvt.f16x2.f32", "add+xor", "setp+selp"};
constexpr std::array<std::string_view, 3> kBehindOwn = {"fma.f32", "max3.s32", "ex2.f32"};
constexpr std::array<std::string_view, 3> kInSlots = {"fma.f32", "max+min", "ex2.f32"};
constexpr std::array<std::string_view, 6> kOfSoftmax = {"max3.s32",      "fma+ex2+add", "add+xor",
                                                        "cvt.f16x2.f32", "setp+selp",   "shf.l"};
constexpr std::array<std::string_view, 4> kOfShared = {"shfl", "ld.shared.b32", "ld.shared.v4",
                                                       "ldmatrix.x4"};
constexpr int kManyProducts = 32;  // a group, so that its wait is nothing beside them
constexpr int kFewGroups = 32;
constexpr int kGroups = 256;
constexpr int kChains = 8;
constexpr int kBesideSteps = 128;

// What is beside the products of warpgroup 0.
struct Beside {
  const Instruction& instruction;  // of the other warpgroups, in rounds
  int chains = kChains;            // that do not depend on each other
  bool products_end = true;        // `count` groups of products; or `count` rounds of the others
  bool gaps = false;  // each group is waited for before the next; else one is under way
};

// Warpgroup 0: groups of products. The others: rounds of instructions. Either `count` times, and the
// other until then.
std::string source(int columns, bool from_registers, int per_group, const Beside& beside) {
  return fmt::format(
      R"(
{prelude}
  {operands}
  __shared__ volatile int over;
  __shared__ volatile int stop;
  if (threadIdx.x == 0) over = 0;
  __syncthreads();
  const unsigned long long ns = nanoseconds();
  const unsigned long long begin = now();
  unsigned kept = 0;
  if (threadIdx.x < 128) {{
    {zero_sums}
    // At least once: or ptxas waits for each product.
    int i = 0;
    bool goes_on = true;
    #pragma unroll 1
    do {{
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
      #pragma unroll
      for (int u = 0; u < {per_group}; ++u) {{ {product} }}
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
      asm volatile("wgmma.wait_group.sync.aligned {under_way};" ::: "memory");
      if ({products_end}) {{
        goes_on = ++i < count;
      }} else {{
        // All four warps go on, or none.
        if (threadIdx.x == 0) stop = over;
        asm volatile("bar.sync 1, 128;" ::: "memory");
        goes_on = stop == 0;
        asm volatile("bar.sync 1, 128;" ::: "memory");
      }}
    }} while (goes_on);
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    {keep_sums}
    if ({products_end}) over = 1;
  }} else {{
    {others}
    // Not before the rounds.
    asm volatile("" :: "r"(kept) : "memory");
    if (!{products_end}) over = 1;
  }}
  note(times, begin, now(), ns);
  if (kept == 0x12345678) data[3] = kept;
}}
)",
      fmt::arg("prelude", kernel_prelude()), fmt::arg("operands", kOperands),
      fmt::arg("zero_sums", zero_sums(columns)), fmt::arg("keep_sums", keep_sums(columns)),
      fmt::arg("per_group", per_group), fmt::arg("product", product(columns, from_registers)),
      fmt::arg("under_way", beside.gaps ? 0 : 1),
      fmt::arg("products_end", beside.products_end ? "true" : "false"),
      fmt::arg("others", rounds_source(beside.instruction, beside.chains, kBesideSteps,
                                       beside.products_end ? "over == 0" : "i < count")));
}

enum class Told { round, issue };

// All warpgroups do the same: rounds of a group of products, of `steps` instructions that follow
// them, and of a wait. Told are the clocks of all rounds, or those until their products are issued.
std::string own_source(int columns, bool from_registers, const Instruction& own, int steps,
                       Told told) {
  return fmt::format(
      R"(
{prelude}
  {operands}
  {zero_sums}
  {values}
  {state} x[{chains}];
  #pragma unroll
  for (int c = 0; c < {chains}; ++c) x[c] = {state}({start});
  __syncthreads();
  const unsigned long long ns = nanoseconds();
  const unsigned long long begin = now();
  unsigned long long issue = 0;
  #pragma unroll 1
  for (int i = 0; i < count; ++i) {{
    if ({tells_issue}) __syncthreads();
    const unsigned long long round = {tells_issue} ? now() : 0;
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    #pragma unroll
    for (int u = 0; u < {per_group}; ++u) {{ {product} }}
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    if ({tells_issue}) issue += now() - round;
    #pragma unroll
    for (int u = 0; u < {steps} / {chains}; ++u) {{
      #pragma unroll
      for (int c = 0; c < {chains}; ++c) {{ {step} }}
    }}
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  }}
  const unsigned long long end = now();
  note(times, {tells_issue} ? 0 : begin, {tells_issue} ? issue : end, ns);
  unsigned kept = 0;
  {keep_sums}
  #pragma unroll
  for (int c = 0; c < {chains}; ++c) kept += static_cast<unsigned>(x[c]);
  if (kept == 0x12345678) data[3] = kept;
}}
)",
      fmt::arg("prelude", kernel_prelude()), fmt::arg("operands", kOperands),
      fmt::arg("zero_sums", zero_sums(columns)), fmt::arg("keep_sums", keep_sums(columns)),
      fmt::arg("values", own.values), fmt::arg("state", own.state), fmt::arg("start", own.start),
      fmt::arg("per_group", kProducts), fmt::arg("product", product(columns, from_registers)),
      fmt::arg("steps", steps), fmt::arg("chains", kChains), fmt::arg("step", own.step),
      fmt::arg("tells_issue", told == Told::issue ? "true" : "false"));
}

// All warpgroups do nothing but products, each of which is waited for.
std::string waits_source(int columns, bool from_registers) {
  return fmt::format(
      R"(
{prelude}
  {operands}
  {zero_sums}
{timed_rounds}    #pragma unroll
    for (int u = 0; u < {products}; ++u) {{
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
      {product}
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
      asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    }}
  }}
  note(times, begin, now(), ns);
  unsigned kept = 0;
  {keep_sums}
  if (kept == 0x12345678) data[3] = kept;
}}
)",
      fmt::arg("prelude", kernel_prelude()), fmt::arg("operands", kOperands),
      fmt::arg("zero_sums", zero_sums(columns)), fmt::arg("keep_sums", keep_sums(columns)),
      fmt::arg("timed_rounds", timed_rounds()), fmt::arg("products", kManyProducts),
      fmt::arg("product", product(columns, from_registers)));
}

// Clocks of each of the instructions called `names`, of one or two warpgroups, beside products of
// another, and of a product.
Json beside_products(Lab& lab, std::span<const std::string_view> names,
                     std::initializer_list<int> chains_of_a_warp) {
  Json beside = Json::object();
  for (const Instruction& each : instructions()) {
    if (std::ranges::find(names, each.name) == names.end()) continue;
    Json rows = Json::object();
    for (const int chains : chains_of_a_warp)
      for (const std::uint32_t others : {1U, 2U})
        for (const auto& [name, columns, from_registers] : kProductForms) {
          if (others > 1 && from_registers) continue;  // a thread has too few registers
          const auto measured = [&](bool products_end, int count) {
            return lab.clocks(
                source(columns, from_registers, kManyProducts, {each, chains, products_end}),
                shape(1 + others, count));
          };
          const double steps = static_cast<double>(kGroups) * kBesideSteps * each.per_step;
          rows[fmt::format("{} chains, {} warps beside {}", chains, 4 * others, name)] = {
              {"clocks_an_instruction", thousandths(measured(false, kGroups) / steps)},
              {"clocks_a_product",
               thousandths(measured(true, kFewGroups) / (kFewGroups * kManyProducts))}};
        }
    beside[each.name] = rows;
    fmt::print("{} beside products:\n{}\n", each.name, rows.dump(1));
  }
  return beside;
}

}  // namespace

Json measure_issue_slots(Lab& lab) {
  Json result = Json::object();
  Json waits = Json::object();
  for (const auto& [name, columns, from_registers] : kProductForms)
    for (const std::uint32_t warpgroups : {1U, 2U, 3U})
      waits[fmt::format("{} warpgroups, {}", warpgroups, name)] = thousandths(
          lab.clocks(waits_source(columns, from_registers), shape(warpgroups, kFewGroups)) /
          (kFewGroups * kManyProducts));
  result["clocks_of_a_product_that_is_waited_for"] = waits;
  fmt::print("clocks of a product that is waited for:\n{}\n", waits.dump(1));
  result["beside"] = beside_products(lab, kInSlots, {1, 2, 4, 8});
  result["beside"].update(beside_products(lab, kOfSoftmax, {2, 8}));
  return result;
}

Json measure_shared_beside_products(Lab& lab) {
  return {{"beside", beside_products(lab, kOfShared, {1, 2, 4})}};
}

Json measure_warpgroup_products(Lab& lab) {
  Json result = Json::object();
  const Instruction& any = instructions().front();
  Json alone = Json::object();
  for (const bool from_registers : {false, true}) {
    for (const int columns : {8, 32, 64, 128, 192, 256}) {
      Json row = Json::object();
      for (const int products : {1, 2, 4, 8}) {
        const double clocks =
            lab.clocks(source(columns, from_registers, products, {any, kChains, true, true}),
                       shape(1, kGroups)) /
            kGroups;
        row[std::to_string(products)] = thousandths(clocks);
      }
      alone[fmt::format("n{} {}", columns, from_registers ? "registers" : "shared")] = row;
    }
  }
  result["clocks_of_a_group_of_so_many"] = alone;
  fmt::print("wgmma m64nNk16, clocks of a group of so many that is waited for:\n{}\n",
             alone.dump(1));
  Json beside = Json::object();
  for (const Instruction& each : instructions()) {
    if (std::ranges::find(kBeside, each.name) == kBeside.end()) continue;
    Json row = Json::object();
    for (const std::uint32_t others : {1U, 2U}) {
      const int rounds = 512;
      const double per = static_cast<double>(rounds) * kBesideSteps * each.per_step;
      for (const auto& [name, columns, from_registers] : {std::tuple{"n64 shared", 64, false},
                                                          {"n128 shared", 128, false},
                                                          {"n128 registers", 128, true},
                                                          {"n64 registers", 64, true}}) {
        const std::string key = fmt::format("{} warps beside {}", 4 * others, name);
        const double clocks =
            lab.clocks(source(columns, from_registers, kProducts, {each, kChains, false}),
                       shape(1 + others, rounds));
        const double products =
            lab.clocks(source(columns, from_registers, kProducts, {each, kChains, true}),
                       shape(1 + others, kGroups));
        row[key] = {{"clocks_an_instruction", thousandths(clocks / per)},
                    {"clocks_a_product", thousandths(products / (kGroups * kProducts))}};
      }
    }
    beside[each.name] = row;
    fmt::print("{:<14} {}\n", each.name, row.dump());
  }
  result["beside"] = beside;
  Json rounds = Json::object();
  Json issued = Json::object();
  for (const auto& [name, columns, from_registers] : kProductForms) {
    for (const std::uint32_t warpgroups : {1U, 2U, 3U, 4U}) {
      const std::string key = fmt::format("{} warpgroups, {}", warpgroups, name);
      const double clocks = lab.clocks(own_source(columns, from_registers, any, 0, Told::issue),
                                       shape(warpgroups, kGroups));
      issued[key] = thousandths(clocks / kGroups);
      if (warpgroups == 4) continue;  // a thread has too few registers
      for (const Instruction& each : instructions()) {
        if (std::ranges::find(kBehindOwn, each.name) == kBehindOwn.end()) continue;
        for (const int steps : {16, 32, 64, 128, 256})
          rounds[fmt::format("{}, {} {}", key, steps, each.name)] =
              thousandths(lab.clocks(own_source(columns, from_registers, each, steps, Told::round),
                                     shape(warpgroups, kGroups)) /
                          kGroups);
      }
    }
  }
  result["clocks_until_8_are_issued"] = issued;
  result["clocks_of_8_beside_own"] = rounds;
  fmt::print("clocks until 8 products are issued:\n{}\n", issued.dump(1));
  fmt::print("clocks of 8 products and what follows them:\n{}\n", rounds.dump(1));
  return result;
}

}  // namespace fa_tune::bench
