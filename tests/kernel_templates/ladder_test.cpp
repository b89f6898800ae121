// The ladder's steps: every preset is right under all of the emulator's checks, and its templates
// take what attention has beside Q, K and V. What must be refused stands in
// kernel_templates/attention/faults.

#include <doctest/doctest.h>

#include "tests/kernel_templates/task_bench.hpp"

namespace fa_tune::test {

using namespace fa_tune::gate;
using namespace fa_tune::space;
using namespace fa_tune::tuner;

namespace {

TaskBench ladder(const test::Replacements& change) {
  return {test::task("ladder.yaml", change), "emulator:l4"};
}

// The shipped problem with other settings, and without the presets, which may not fit them.
TaskBench with(const std::string& shape, const std::string& settings) {
  const std::string text = test::task("ladder.yaml").file.text;
  const std::size_t begin = text.find("presets:");
  const std::size_t end = text.find("budget:");
  return ladder(
      {{"shape: {B: 1, H: 8, Lq: 512, Lk: 512, D: 64}\n  causal: false\n  dtype: fp16",
        "shape: " + shape + "\n" + settings},
       {text.substr(begin, end - begin),
        "presets:\n  any: {template: tiled, BLOCK_M: 16, BLOCK_N: 16, WARPS: 4, WORK: elements, "
        "REDUCTION: warp, OUTPUT: in_registers, IO: vector}\n"}});
}

const std::string kTiled =
    R"({"template":"tiled","BLOCK_M":16,"BLOCK_N":32,"WARPS":4,"WORK":"rows",)"
    R"("REDUCTION":"warp","OUTPUT":"in_registers","IO":"vector"})";
const std::string kWmma =
    R"({"template":"wmma","BLOCK_M":32,"BLOCK_N":32,"WARPS":4,"PV":"wmma","COPY":"producer",)"
    R"("PERSISTENT":true,"L2_HINT":"none","STAGES":2,"LAYOUT":"fragments","EPILOGUE":"fused"})";

void accept_step(TaskBench& place, const std::string& base, const test::Replacements& change = {}) {
  place.accept(Config::from_json(test::replace(base, change)));
}

}  // namespace

TEST_CASE("ladder: every step is right") {
  TaskBench place = ladder({});
  const auto& presets = place.task.file.presets;
  CHECK(presets.size() >= 14);
  for (const Preset& preset : presets) place.accept(preset.config);
}

TEST_CASE("ladder: all features together") {
  TaskBench place = with("{B: 1, H: 4, Hkv: 2, L: 256, D: 64}", kAllFeatures);
  accept_step(place, kTiled);
  accept_step(place, kTiled,
              {{R"("rows")", R"("elements")"},
               {R"("REDUCTION":"warp")", R"("REDUCTION":"serial")"},
               {R"("in_registers")", R"("in_shared")"},
               {R"("vector")", R"("scalar")"}});
  accept_step(place, kWmma);
  accept_step(place, kWmma,
              {{R"("producer")", R"("async")"},
               {R"("WARPS":4)", R"("WARPS":2)"},
               {R"("none")", R"("keep")"},
               {R"("fragments")", R"("padded")"},
               {R"("fused")", R"("separate")"}});
}

TEST_CASE(
    "ladder: other head dimensions, one warp for each 16 rows and four, PV without tensor cores") {
  TaskBench wide = with("{B: 1, H: 2, L: 128, D: 96}", "  lse: true\n  window: [64, 0]");
  accept_step(wide, kTiled);
  accept_step(wide, kWmma);
  TaskBench narrow = with("{B: 1, H: 2, L: 128, D: 32}", "  causal: true");
  accept_step(narrow, kWmma);
  accept_step(narrow, kWmma,
              {{R"("PV":"wmma")", R"("PV":"scalar")"},
               {R"("producer")", R"("plain")"},
               {R"("STAGES":2)", R"("STAGES":1)"},
               {R"("fragments")", R"("plain")"}});
}

}  // namespace fa_tune::test
