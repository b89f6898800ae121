// Blocks of a cluster that share the keys of a tile: right in every variant of it, and a fault in
// how they are joined is refused.

#include <doctest/doctest.h>
#include <fmt/core.h>

#include "tests/kernel_templates/task_bench.hpp"

namespace fa_tune::test {

using namespace fa_tune::gate;
using namespace fa_tune::kernel;
using namespace fa_tune::tuner;

namespace {

std::string config_of(const std::string& changes) {
  return R"({"template":"wgmma","CONSUMERS":1,"BLOCK_N":32,"STAGES":4,"PV_PARTS":1,"PING_PONG":false,)"
         R"("RESCALE":"always","EXP_POLYNOMIAL":0,"Q_PLACE":"in_shared","Q_STAGES":1,"CARRY":false,)"
         R"("HEAD_GROUP":1,"CLUSTER":1,"BLOCKS":1,"PERSISTENT":false,)" +
         changes + "}";
}

const test::Replacements kGene = {
    {"  CLUSTER: {",
     "  SPLIT_KV: {values: [1, 2, 4, 8], when: \"template == 'wgmma'\"}\n  CLUSTER: {"},
    {"PERSISTENT: true}", "PERSISTENT: true, SPLIT_KV: 1}"}};

TaskBench split_keys(const std::string& settings) {
  test::Replacements change = kGene;
  change.emplace_back("causal: false", settings);
  return {test::task("h100.yaml", change), "emulator:h100"};
}

void accept_split(TaskBench& place, const std::string& text) {
  place.accept(Config::from_json(text));
}

void refuse_split(TaskBench& place, const std::string& name, const std::string& reason,
                  const test::Replacements& fault) {
  const Config config =
      Config::from_json(config_of(R"("OVERLAP":"ahead","O_PLACE":"over_q","SPLIT_KV":2)"));
  CHECK(place.task.space.index_of(config).has_value());
  place.refuse(name, reason, config, fault);
}

}  // namespace

TEST_CASE("wgmma split: two, four and eight blocks a tile") {
  TaskBench plain = split_keys("causal: false");
  accept_split(plain, config_of(R"("OVERLAP":"ahead","O_PLACE":"over_q","SPLIT_KV":2)"));
  TaskBench masked =
      split_keys("causal: true\n  causal_alignment: bottom_right\n  lse: true\n  window: [70, -1]");
  accept_split(masked, test::replace(config_of(R"("OVERLAP":"none","O_PLACE":"own","SPLIT_KV":4)"),
                                     {{R"("CONSUMERS":1)", R"("CONSUMERS":2)"},
                                      {R"("BLOCK_N":32)", R"("BLOCK_N":64)"},
                                      {R"("always")", R"("by_sum")"},
                                      {R"("PING_PONG":false)", R"("PING_PONG":true)"}}));
  accept_split(masked, config_of(R"("OVERLAP":"chained","O_PLACE":"over_q","SPLIT_KV":8)"));
}

TEST_CASE("wgmma split: e4m3") {
  TaskBench place(
      test::task("h100_fp8.yaml",
                 {{"  CLUSTER: [1]", "  CLUSTER: [1]\n  SPLIT_KV: [1, 2, 4]"},
                  {"PERSISTENT: true}\n  # What", "PERSISTENT: true, SPLIT_KV: 1}\n  # What"},
                  {"long: {when: not problem.causal,", "long: {when: problem.D == 0,"},
                  {"scale_rows: 128", "scale_rows: 32\n  lse: true"},
                  {"CONSUMERS: 2, BLOCK_N: 128", "CONSUMERS: 2, BLOCK_N: 32"},
                  {"L: 4096, D: 128", "L: 4096, D: 64"}}),
      "emulator:h100");
  accept_split(place, config_of(R"("OVERLAP":"ahead","O_PLACE":"own","SPLIT_KV":2)"));
}

TEST_CASE("wgmma split: planted faults are refused") {
  TaskBench place = split_keys("causal: true\n  lse: true");
  refuse_split(place, "the other block's reference is taken for this one's", "wrong",
               {{"take[h] = exp2_approx(theirs[h] * factor - subtract);",
                 "take[h] = exp2_approx(before * factor - subtract);"}});
  refuse_split(place, "the other block's row sums are lost", "wrong",
               {{"rows.sum[h] * keep[h] + theirs[2 + h] * take[h];", "rows.sum[h] * keep[h];"}});
  refuse_split(place, "both blocks take all keys", "wrong",
               {{"return {first, min(first + share, all.end)};", "return all;"}});
  refuse_split(place, "sums are read before they are there", "race",
               {{"if (rank != 0) write_partials(state, base);\n  sync_cluster();",
                 "sync_cluster();\n  if (rank != 0) write_partials(state, base);"}});
}

}  // namespace fa_tune::test
