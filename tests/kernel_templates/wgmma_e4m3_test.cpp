// The template for Hopper's tensor cores on 8 bits, under all of the emulator's checks. What must
// be refused stands in kernel_templates/attention/faults too.

#include <doctest/doctest.h>
#include <fmt/core.h>

#include "engine/util/error.hpp"
#include "tests/kernel_templates/task_bench.hpp"

namespace fa_tune::test {

using namespace fa_tune::gate;
using namespace fa_tune::kernel;
using namespace fa_tune::tuner;

namespace {

const std::string kE4m3 =
    R"({"template":"wgmma","CONSUMERS":2,"BLOCK_N":32,"STAGES":2,"OVERLAP":"ahead","PV_PARTS":1,)"
    R"("PING_PONG":false,"RESCALE":"always","EXP_POLYNOMIAL":0,"Q_PLACE":"in_shared","Q_STAGES":1,)"
    R"("CARRY":false,"O_PLACE":"own","HEAD_GROUP":1,"CLUSTER":1,"BLOCKS":1,"PERSISTENT":true,)"
    R"("PACK_HEADS":false})";

// The shipped space with another problem, and a preset that fits each.
test::Replacements e4m3_space(const std::string& shape, const std::string& settings) {
  return {{"shape: {B: 1, H: 16, L: 4096, D: 128}\n  causal: false",
           fmt::format("shape: {{{}}}\n  {}", shape, settings)},
          {"scale_rows: 128", "scale_rows: 64"},
          {"BLOCK_N: [32, 64, 96, 128, 160, 192, 224]",
           "BLOCK_N: [32, 64, 96]\n  PACK_HEADS: [false, true]"},
          {"CONSUMERS: 2, BLOCK_N: 128, STAGES: 2, OVERLAP: ahead",
           "CONSUMERS: 2, BLOCK_N: 32, STAGES: 2, OVERLAP: ahead"},
          {"PERSISTENT: true}\n  # What", "PERSISTENT: true, PACK_HEADS: false}\n  # What"},
          {"long: {when: not problem.causal,", "long: {when: problem.D == 0,"},
          {"long_causal: {when: problem.causal,", "long_causal: {when: problem.D == 0,"}};
}

TaskBench e4m3(const std::string& shape, const std::string& settings) {
  return {test::task("h100_fp8.yaml", e4m3_space(shape, settings)), "emulator:h100"};
}

void accept_e4m3(TaskBench& place, const test::Replacements& change) {
  const Verdict verdict = place.accept(Config::from_json(test::replace(kE4m3, change)));
  CHECK(verdict.worst_ratio < 0.7);
}

// Refused by the gate, and for this reason.
void refuse_e4m3(TaskBench& place, const std::string& name, const std::string& reason,
                 const test::Replacements& fault, const test::Replacements& change = {}) {
  place.refuse(name, reason, Config::from_json(test::replace(kE4m3, change)), fault);
}

}  // namespace

TEST_CASE("wgmma e4m3: variants that use its parts together are accepted") {
  TaskBench plain = e4m3("B: 1, H: 4, L: 512, D: 128", "causal: false");
  accept_e4m3(plain, {});
  TaskBench causal = e4m3("B: 1, H: 4, L: 512, D: 64", "causal: true");
  accept_e4m3(causal, {{R"("PING_PONG":false)", R"("PING_PONG":true)"},
                       {R"("CARRY":false)", R"("CARRY":true)"},
                       {R"("BLOCK_N":32)", R"("BLOCK_N":64)"},
                       {R"("in_shared")", R"("in_registers")"},
                       {R"("always")", R"("voted")"}});
}

TEST_CASE("wgmma e4m3: one scale for a head") {
  auto changes = e4m3_space("B: 1, H: 2, L: 512, D: 64", "causal: false");
  changes.emplace_back("scale_rows: 64", "scale_rows: 512");
  TaskBench place{test::task("h100_fp8.yaml", changes), "emulator:h100"};
  accept_e4m3(place, {{R"("BLOCK_N":32)", R"("BLOCK_N":96)"},
                      {R"("CONSUMERS":2)", R"("CONSUMERS":3)"},
                      {R"("always")", R"("voted")"}});
}

TEST_CASE("wgmma e4m3: V's scales are powers of two apart") {
  TaskBench plain = e4m3("B: 1, H: 4, L: 512, D: 64", "v_scales: powers_of_two\n  causal: false");
  accept_e4m3(plain, {{R"("always")", R"("threshold")"}});
  TaskBench causal =
      e4m3("B: 1, H: 4, L: 512, D: 128", "v_scales: powers_of_two\n  lse: true\n  causal: true");
  accept_e4m3(causal, {{R"("ahead")", R"("none")"},
                       {R"("PING_PONG":false)", R"("PING_PONG":true)"},
                       {R"("BLOCK_N":32)", R"("BLOCK_N":64)"},
                       {R"("PV_PARTS":1)", R"("PV_PARTS":2)"},
                       {R"("EXP_POLYNOMIAL":0)", R"("EXP_POLYNOMIAL":2)"},
                       {R"("always")", R"("threshold")"}});
  const test::Replacements carried = {{R"("CARRY":false)", R"("CARRY":true)"}};
  accept_e4m3(plain, carried);
  const auto refuse = [&](const char* name, const test::Replacements& fault) {
    refuse_e4m3(plain, name, "wrong", fault, carried);
  };
  refuse("sums of a tile with a smaller scale are left smaller",
         {{"fmaf(all, factors.whole, rows.sum[h])", "rows.sum[h] + all"}});
  refuse("probabilities know nothing of their tile's scale",
         {{"kGain - factors.smaller", "kGain"}});
  refuse("a head begins with the unit of the one before",
         {{"state.v_unit = kNoUnit;\n          s", "s"}});
}

TEST_CASE("wgmma e4m3: sums tell when maxima are wanted") {
  const test::Replacements by_sum = {{R"("ahead")", R"("none")"},
                                     {R"("PING_PONG":false)", R"("PING_PONG":true)"},
                                     {R"("PERSISTENT":true)", R"("PERSISTENT":false)"},
                                     {R"("always")", R"("by_sum")"}};
  TaskBench causal =
      e4m3("B: 1, H: 2, L: 512, D: 64", "v_scales: powers_of_two\n  lse: true\n  causal: true");
  accept_e4m3(causal, by_sum);
  refuse_e4m3(causal, "a warp asks for its scores alone", "sync",
              {{"any_numbered(own_barrier(group_), kWarpgroupThreads, outgrown(tile.sum))",
                "__any_sync(0xffffffffu, outgrown(tile.sum))"}},
              by_sum);
  TaskBench featured = e4m3("B: 1, H: 4, Hkv: 2, Lq: 192, Lk: 512, D: 32",
                            "causal: true\n  causal_alignment: bottom_right\n  window: [100, -1]\n"
                            "  softcap: 20.5\n  alibi: true");
  accept_e4m3(featured, by_sum);
  TaskBench plain = e4m3("B: 1, H: 2, L: 512, D: 64", "lse: true");
  accept_e4m3(plain, by_sum);
  const auto refuse = [&](const char* name, const char* reason, const test::Replacements& fault) {
    refuse_e4m3(plain, name, reason, fault, by_sum);
  };
  refuse("sums that outgrow their room are not looked at", "wrong",
         {{"kWarpgroupThreads, outgrown(tile.sum))", "kWarpgroupThreads, false)"}});
  refuse("room for sums beyond the largest number of P", "wrong",
         {{"DTYPE_E4M3 ? 448.0f", "DTYPE_E4M3 ? 16384.0f"}});
  refuse("a row's output is not brought to its new offset", "wrong", {{"shrink[h] *= down;", ""}});
  refuse("K is given back while its scores may be asked for again", "race",
         {{"    end_turn();\n    if constexpr (PING_PONG) fence_by_branch(j);",
           "    end_turn();\n    release_k();"},
          {"rescale_output(state, same);\n    }\n    release_k();",
           "rescale_output(state, same);\n    }"}});
}

TEST_CASE("wgmma e4m3: every feature together, heads packed") {
  TaskBench place =
      e4m3("B: 1, H: 4, Hkv: 2, L: 512, D: 96",
           "layout: BSHD\n  lse: true\n  causal: true\n  causal_alignment: bottom_right\n"
           "  window: [100, -1]\n  softcap: 20.5\n  alibi: true");
  accept_e4m3(place, {{R"("ahead")", R"("chained")"},
                      {R"("BLOCK_N":32)", R"("BLOCK_N":64)"},
                      {R"("PV_PARTS":1)", R"("PV_PARTS":2)"},
                      {R"("EXP_POLYNOMIAL":0)", R"("EXP_POLYNOMIAL":2)"},
                      {R"("PACK_HEADS":false)", R"("PACK_HEADS":true)"}});
}

TEST_CASE("wgmma e4m3: planted faults are refused") {
  TaskBench place = e4m3("B: 1, H: 2, L: 512, D: 64", "lse: true");
  refuse_e4m3(place, "K's scale for V", "wrong",
              {{"unit_with(scales_.of_values(work, j)", "unit_with(scales_.of_keys(work, j)"}});
  refuse_e4m3(place, "the output keeps the unit of V's first tile", ", O",
              {{"state.v_unit * reciprocal_approx(state.next_v_unit);", "1.0f;"}});
  refuse_e4m3(place, "the first block's scale for all queries", "wrong",
              {{"head * q_blocks_ + position_of(row) / kScaleRows", "head * q_blocks_"}});
  refuse_e4m3(place, "P's columns not in the order of V's keys", "wrong",
              {{"pack_e4m3(p[0], p[1], p[2], p[3])", "pack_e4m3(p[0], p[2], p[1], p[3])"}});
  refuse_e4m3(place, "LSE keeps the gain of P", "wrong", {{"offset - kGain", "offset"}});
  refuse_e4m3(place, "probabilities grow out of e4m3 under an old offset", "wrong",
              {{"DTYPE_E4M3 ? 2.8f : 8.0f", "8.0f"}}, {{R"("always")", R"("threshold")"}});
  refuse_e4m3(place, "P without its gain loses what is small", "wrong",
              {{"kGain - factors.smaller", "-factors.smaller"}, {"offset - kGain", "offset"}});
  refuse_e4m3(place, "V turned over unseen by the products", "race",
              {{"fence_async_proxy();\n      __syncwarp();", "__syncwarp();"}});
  refuse_e4m3(place, "V given on by a lane that has not met its warp", "race",
              {{"fence_async_proxy();\n      __syncwarp();", "fence_async_proxy();"}});
  refuse_e4m3(
      place, "V turned over where products still read", "race",
      {{"wait_for(base + kVEmpty + 8 * at.slot, at.parity ^ 1);\n      transpose", "transpose"}});
}

TEST_CASE("wgmma e4m3: a template of 16 bits says no in one line") {
  try {
    test::task("l4.yaml", {{"dtype: fp16", "dtype: e4m3"}});
    FAIL("accepted");
  } catch (const UserError& error) {
    const std::string message = error.what();
    CHECK(message.find("this template reads 16-bit elements") != std::string::npos);
  }
}

}  // namespace fa_tune::test
