// Blocks of a cluster that share the keys of a tile: right in every variant of it, and a fault in
// how they are joined is refused.

#include <doctest/doctest.h>
#include <fmt/core.h>

#include "tests/engine/tuner/fixture.hpp"

namespace fa_tune::test {

using namespace fa_tune::gate;
using namespace fa_tune::kernel;
using namespace fa_tune::tuner;

namespace {

std::string config(const std::string& changes) {
  return R"({"template":"wgmma","CONSUMERS":1,"BLOCK_N":32,"STAGES":4,"PV_PARTS":1,"PING_PONG":false,)"
         R"("RESCALE":"always","EXP_POLYNOMIAL":0,"Q_PLACE":"in_shared","Q_STAGES":1,"CARRY":false,)"
         R"("HEAD_GROUP":1,"CLUSTER":1,"BLOCKS":1,"PERSISTENT":false,)" +
         changes + "}";
}

struct Fixture {
  Fixture(const std::string& space, const test::Replacements& change)
      : task(test::task(space, change)), bench(task, "emulator:h100") {}

  TuningTask task;
  test::Bench bench;
};

const test::Replacements kGene = {
    {"  CLUSTER: {",
     "  SPLIT_KV: {values: [1, 2, 4, 8], when: \"template == 'wgmma'\"}\n  CLUSTER: {"},
    {"PERSISTENT: true}", "PERSISTENT: true, SPLIT_KV: 1}"}};

Fixture on_h100(const std::string& settings) {
  test::Replacements change = kGene;
  change.emplace_back("causal: false", settings);
  return {"h100.yaml", change};
}

Verdict gate(Fixture& place, const Template& from, const std::string& text) {
  const Config wanted = Config::from_json(text);
  CAPTURE(text);
  CHECK(place.task.space.index_of(wanted).has_value());
  return place.bench.gate(from, wanted, "quick");
}

void accept(Fixture& place, const std::string& text) {
  const Verdict verdict = gate(place, place.task.template_of(Config::from_json(text)), text);
  CHECK_MESSAGE(verdict.passed(), text, ": ", verdict.finding, ": ", verdict.message, " at ",
                verdict.where);
}

void refuse(Fixture& place, const std::string& name, const std::string& reason,
            const test::Replacements& fault) {
  const std::string text = config(R"("OVERLAP":"ahead","O_PLACE":"over_q","SPLIT_KV":2)");
  const Template& sound = place.task.template_of(Config::from_json(text));
  const Template faulty = Template::parse(sound.name(), sound.manifest_text(),
                                          test::replace(sound.cuda_text(), fault), "planted.yaml");
  const Verdict verdict = gate(place, faulty, text);
  const std::string said = verdict.finding + ", " + verdict.message;
  CHECK_MESSAGE(said.find(reason) != std::string::npos, name, ": ", said);
}

}  // namespace

TEST_CASE("wgmma split: two, four and eight blocks a tile") {
  Fixture plain = on_h100("causal: false");
  accept(plain, config(R"("OVERLAP":"ahead","O_PLACE":"over_q","SPLIT_KV":2)"));
  Fixture masked =
      on_h100("causal: true\n  causal_alignment: bottom_right\n  lse: true\n  window: [70, -1]");
  accept(masked, test::replace(config(R"("OVERLAP":"none","O_PLACE":"own","SPLIT_KV":4)"),
                               {{R"("CONSUMERS":1)", R"("CONSUMERS":2)"},
                                {R"("BLOCK_N":32)", R"("BLOCK_N":64)"},
                                {R"("always")", R"("threshold")"},
                                {R"("PING_PONG":false)", R"("PING_PONG":true)"}}));
  accept(masked, config(R"("OVERLAP":"chained","O_PLACE":"over_q","SPLIT_KV":8)"));
}

TEST_CASE("wgmma split: e4m3") {
  Fixture place("h100_fp8.yaml", {{"  CLUSTER: [1]", "  CLUSTER: [1]\n  SPLIT_KV: [1, 2, 4]"},
                                  {"PERSISTENT: true}", "PERSISTENT: true, SPLIT_KV: 1}"},
                                  {"scale_rows: 128", "scale_rows: 32\n  lse: true"},
                                  {"CONSUMERS: 2, BLOCK_N: 128", "CONSUMERS: 2, BLOCK_N: 32"},
                                  {"L: 4096, D: 128", "L: 4096, D: 64"}});
  accept(place, config(R"("OVERLAP":"ahead","O_PLACE":"own","SPLIT_KV":2)"));
}

TEST_CASE("wgmma split: planted faults are refused") {
  Fixture place = on_h100("causal: true\n  lse: true");
  refuse(place, "the other block's reference is taken for this one's", "wrong",
         {{"take[h] = exp2_approx(theirs[h] * factor - subtract);",
           "take[h] = exp2_approx(before * factor - subtract);"}});
  refuse(place, "the other block's row sums are lost", "wrong",
         {{"rows.sum[h] * keep[h] + theirs[2 + h] * take[h];", "rows.sum[h] * keep[h];"}});
  refuse(place, "both blocks take all keys", "wrong",
         {{"return {first, min(first + share, all.end)};", "return all;"}});
  refuse(place, "sums are read before they are there", "race",
         {{"if (rank != 0) write_partials(state, base);\n  sync_cluster();",
           "sync_cluster();\n  if (rank != 0) write_partials(state, base);"}});
}

}  // namespace fa_tune::test
