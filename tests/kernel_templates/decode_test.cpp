// Few queries and many keys, these split over blocks: right in every variant of it and with every
// feature. Its planted faults are kernel_templates/attention/faults/decode.yaml.

#include <doctest/doctest.h>
#include <fmt/core.h>

#include "tests/kernel_templates/task_bench.hpp"

namespace fa_tune::test {

using namespace fa_tune::gate;
using namespace fa_tune::kernel;
using namespace fa_tune::tuner;

namespace {

const std::string kSplit =
    R"({"template":"decode","BLOCK_M":16,"WARPS":2,"WARP_KEYS":16,"STAGES":2,"SPLITS":6,)"
    R"("LAYOUT":"padded","Q_PLACE":"in_registers","RESCALE":"always","MIN_BLOCKS":0,)"
    R"("L2_HINT":"none","JOIN_THREADS":128})";

const test::Replacements kWhole = {{R"("SPLITS":6)", R"("SPLITS":1)"},
                                   {R"(,"JOIN_THREADS":128)", ""}};

// `shape` and further lines of YAML in the place of the shipped problem.
TaskBench problem(const std::string& shape, const std::string& settings = "  dtype: bf16") {
  return {test::task("decode.yaml",
                     {{"shape: {B: 1, H: 32, Hkv: 8, Lq: 1, Lk: 8192, D: 128}\n  dtype: bf16",
                       fmt::format("shape: {}\n{}", shape, settings)}}),
          "emulator:h100"};
}

void accept(TaskBench& place, const test::Replacements& change = {}) {
  place.accept(Config::from_json(test::replace(kSplit, change)));
}

}  // namespace

TEST_CASE("decode: one block a head, and more blocks than there are tiles") {
  TaskBench place = problem("{B: 2, H: 6, Hkv: 2, Lq: 1, Lk: 150, D: 64}");
  accept(place, kWhole);
  accept(place, {{R"("SPLITS":6)", R"("SPLITS":32)"}, {R"("padded")", R"("swizzled")"}});
  accept(place, {{R"("WARPS":2)", R"("WARPS":8)"}, {R"("STAGES":2)", R"("STAGES":1)"}});
}

TEST_CASE("decode: any group of heads, also more rows than a tile has") {
  for (const char* shape : {"{B: 1, H: 7, Hkv: 1, Lq: 1, Lk: 100, D: 64}",
                            "{B: 1, H: 3, Hkv: 3, Lq: 2, Lk: 100, D: 64}",
                            "{B: 1, H: 10, Hkv: 2, Lq: 9, Lk: 100, D: 64}"}) {
    TaskBench place = problem(shape);
    accept(place);
    accept(place, {{R"("in_registers")", R"("in_shared")"}, {R"("always")", R"("threshold")"}});
  }
}

TEST_CASE("decode: tiles of more rows") {
  TaskBench place = problem("{B: 1, H: 10, Hkv: 2, Lq: 9, Lk: 100, D: 64}");
  accept(place, {{R"("BLOCK_M":16)", R"("BLOCK_M":32)"}});
  accept(place, {{R"("BLOCK_M":16)", R"("BLOCK_M":64)"}, {R"("in_registers")", R"("in_shared")"}});
}

TEST_CASE("decode: each feature, and all together") {
  const std::string shape = "{B: 1, H: 6, Hkv: 2, Lq: 3, Lk: 130, D: 64}";
  for (const char* settings :
       {"  causal: true\n  causal_alignment: bottom_right", "  window: [40, 10]", "  lse: true",
        "  softcap: 20\n  alibi: true", "  layout: BSHD"}) {
    TaskBench place = problem(shape, settings);
    accept(place);
  }
  TaskBench place = problem(shape, kAllFeatures);
  accept(place, {{R"("always")", R"("voted")"}, {R"("WARP_KEYS":16)", R"("WARP_KEYS":32)"}});
  accept(place, kWhole);
}

TEST_CASE("decode: every head dimension") {
  for (const int head_dim : {32, 96, 192, 256}) {
    TaskBench place =
        problem(fmt::format("{{B: 1, H: 4, Hkv: 2, Lq: 1, Lk: 90, D: {}}}", head_dim));
    accept(place);
  }
}

}  // namespace fa_tune::test
