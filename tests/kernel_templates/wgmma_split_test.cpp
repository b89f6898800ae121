// Blocks of a cluster, and warpgroups of a block, that share the keys of a tile: right in every
// variant of it, and a fault in how they are joined is refused.

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
         R"("HEAD_GROUP":1,"CLUSTER":1,"BLOCKS":1,"PERSISTENT":false,"DEPENDENT_LAUNCH":false,)" +
         changes + "}";
}

TaskBench split_keys(const std::string& settings) {
  return {
      test::task("h100_short.yaml",
                 {{"SPLIT_KV: {values: [1, 2, 4]", "SPLIT_KV: {values: [1, 2, 4, 8]"},
                  {"OVERLAP: {values: [none, ahead]", "OVERLAP: {values: [none, chained, ahead]"},
                  {"causal: false", settings}}),
      "emulator:h100"};
}

void accept_split(TaskBench& place, const std::string& text) {
  place.accept(Config::from_json(text));
}

void refuse_split(TaskBench& place, const std::string& text, const std::string& name,
                  const std::string& reason, const test::Replacements& fault) {
  const Config config = Config::from_json(text);
  CHECK(place.task.space.index_of(config).has_value());
  place.refuse(name, reason, config, fault);
}

// With turns, in which all of a block's warpgroups take part. What four of them have wants larger
// rings.
std::string of_warpgroups(int consumers, const std::string& changes) {
  return test::replace(config_of(R"("SPLIT_KV":1,)" + changes),
                       {{R"("CONSUMERS":1)", fmt::format(R"("CONSUMERS":{})", consumers)},
                        {R"("BLOCK_N":32)", fmt::format(R"("BLOCK_N":{})", 16 * consumers)},
                        {R"("PING_PONG":false)", R"("PING_PONG":true)"}});
}

}  // namespace

TEST_CASE("wgmma split: two, four and eight blocks a tile") {
  TaskBench plain = split_keys("causal: false");
  accept_split(plain,
               config_of(R"("OVERLAP":"ahead","O_PLACE":"over_q","KEY_GROUPS":1,"SPLIT_KV":2)"));
  TaskBench masked =
      split_keys("causal: true\n  causal_alignment: bottom_right\n  lse: true\n  window: [70, -1]");
  accept_split(
      masked,
      test::replace(config_of(R"("OVERLAP":"none","O_PLACE":"own","KEY_GROUPS":1,"SPLIT_KV":4)"),
                    {{R"("CONSUMERS":1)", R"("CONSUMERS":2)"},
                     {R"("BLOCK_N":32)", R"("BLOCK_N":64)"},
                     {R"("always")", R"("by_sum")"},
                     {R"("PING_PONG":false)", R"("PING_PONG":true)"}}));
  accept_split(masked,
               config_of(R"("OVERLAP":"chained","O_PLACE":"over_q","KEY_GROUPS":1,"SPLIT_KV":8)"));
}

TEST_CASE("wgmma split: two and four warpgroups a tile") {
  TaskBench plain = split_keys("causal: false");
  accept_split(plain, of_warpgroups(2, R"("OVERLAP":"ahead","O_PLACE":"over_q","KEY_GROUPS":2)"));
  accept_split(plain, of_warpgroups(4, R"("OVERLAP":"none","O_PLACE":"own","KEY_GROUPS":2)"));
  TaskBench masked =
      split_keys("causal: true\n  causal_alignment: bottom_right\n  lse: true\n  window: [70, -1]");
  accept_split(masked, of_warpgroups(4, R"("OVERLAP":"ahead","O_PLACE":"own","KEY_GROUPS":4)"));
  accept_split(masked,
               of_warpgroups(2, R"("OVERLAP":"chained","O_PLACE":"over_q","KEY_GROUPS":2)"));
}

TEST_CASE("wgmma split: e4m3") {
  TaskBench place(
      test::task(
          "h100_fp8.yaml",
          {{"  CLUSTER: [1]",
            "  CLUSTER: [1]\n  SPLIT_KV: [1, 2, 4]\n  KEY_GROUPS: [1, 2]\n  DEPENDENT_LAUNCH: "
            "[false]"},
           {"PERSISTENT: true}\n  # What",
            "PERSISTENT: true, SPLIT_KV: 1, KEY_GROUPS: 1, DEPENDENT_LAUNCH: false}\n  # What"},
           {"long: {when: not problem.causal,", "long: {when: problem.D == 0,"},
           {"scale_rows: 128", "scale_rows: 32\n  v_scales: powers_of_two\n  lse: true"},
           {"CONSUMERS: 2, BLOCK_N: 128", "CONSUMERS: 2, BLOCK_N: 32"},
           {"L: 4096, D: 128", "L: 4096, D: 64"}}),
      "emulator:h100");
  accept_split(place,
               config_of(R"("OVERLAP":"ahead","O_PLACE":"own","SPLIT_KV":2,"KEY_GROUPS":1)"));
  accept_split(
      place,
      test::replace(config_of(R"("OVERLAP":"ahead","O_PLACE":"own","SPLIT_KV":1,"KEY_GROUPS":2)"),
                    {{R"("CONSUMERS":1)", R"("CONSUMERS":2)"}}));
}

TEST_CASE("wgmma split: planted faults are refused") {
  TaskBench place = split_keys("causal: true\n  lse: true");
  const auto refuse = [&](const char* name, const char* reason, const test::Replacements& fault) {
    refuse_split(place,
                 config_of(R"("OVERLAP":"ahead","O_PLACE":"over_q","KEY_GROUPS":1,"SPLIT_KV":2)"),
                 name, reason, fault);
  };
  refuse("the other block's reference is taken for this one's", "wrong",
         {{"take[h] = exp2_approx(theirs[h] * factor - subtract);",
           "take[h] = exp2_approx(before * factor - subtract);"}});
  refuse("the other block's row sums are lost", "wrong",
         {{"rows.sum[h] * keep[h] + theirs[2 + h] * take[h];", "rows.sum[h] * keep[h];"}});
  refuse("both blocks take all keys", "wrong",
         {{"return {first, min(first + share, all.end)};", "return all;"}});
  refuse(
      "sums are read before they are there", "race",
      {{"if (rank != 0) write_partials(state, PartialSums(base, thread));\n    sync_cluster();",
        "sync_cluster();\n    if (rank != 0) write_partials(state, PartialSums(base, thread));"}});
}

TEST_CASE("wgmma split: planted faults in shares and turns are refused") {
  TaskBench place = split_keys("causal: true\n  lse: true");
  const auto refuse = [&](const char* name, const char* reason, const test::Replacements& fault) {
    refuse_split(place, of_warpgroups(2, R"("OVERLAP":"ahead","O_PLACE":"over_q","KEY_GROUPS":2)"),
                 name, reason, fault);
  };
  refuse("a turn is missing where a key group has a tile less", "deadlock",
         {{"if (over != 0 && key_group() >= over) {", "if (over != 0 && key_group() > over) {"}});
  refuse("a key group begins at another's last tile", "wrong",
         {{"return tiles.end - key_group;", "return tiles.end;"}});
  refuse("who does not read a tile is waited for", "deadlock",
         {{"constexpr int kReaders = kConsumerWarps / KEY_GROUPS;",
           "constexpr int kReaders = kConsumerWarps;"}});
}

}  // namespace fa_tune::test
