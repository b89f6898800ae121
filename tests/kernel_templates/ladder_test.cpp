// The ladder's steps: every preset is right under all of the emulator's checks, and its templates
// take what attention has beside Q, K and V. What must be refused stands in
// kernel_templates/attention/faults.

#include <doctest/doctest.h>

#include "tests/engine/tuner/fixture.hpp"

namespace fa_tune::test {

using namespace fa_tune::gate;
using namespace fa_tune::space;
using namespace fa_tune::tuner;

namespace {

struct Fixture {
  explicit Fixture(const test::Replacements& change)
      : task(test::task("ladder.yaml", change)), bench(task, "emulator:l4") {}

  void accept(const Config& config) {
    CAPTURE(task.problem->describe(task.problem->shape()));
    CAPTURE(config.to_json());
    CHECK(task.space.index_of(config).has_value());
    const Verdict verdict = bench.gate(task.template_of(config), config, "quick");
    CHECK_MESSAGE(verdict.passed(), verdict.finding, ": ", verdict.message, " at ", verdict.where);
  }
  void accept(const std::string& base, const test::Replacements& change = {}) {
    accept(Config::from_json(test::replace(base, change)));
  }

  TuningTask task;
  test::Bench bench;
};

// The shipped problem with other settings, and without the presets, which may not fit them.
Fixture with(const std::string& shape, const std::string& settings) {
  const std::string text = test::task("ladder.yaml").file.text;
  const std::size_t begin = text.find("presets:");
  const std::size_t end = text.find("budget:");
  return Fixture(
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

const std::string kAll =
    "  dtype: bf16\n  layout: BSHD\n  lse: true\n  causal: true\n"
    "  causal_alignment: bottom_right\n  window: [100, -1]\n  softcap: 20.5\n  alibi: true";

}  // namespace

TEST_CASE("ladder: every step is right") {
  Fixture place({});
  const auto& presets = place.task.file.presets;
  CHECK(presets.size() >= 14);
  for (const Preset& preset : presets) place.accept(preset.config);
}

TEST_CASE("ladder: all features together") {
  Fixture place = with("{B: 1, H: 4, Hkv: 2, L: 256, D: 64}", kAll);
  place.accept(kTiled);
  place.accept(kTiled, {{R"("rows")", R"("elements")"},
                        {R"("REDUCTION":"warp")", R"("REDUCTION":"serial")"},
                        {R"("in_registers")", R"("in_shared")"},
                        {R"("vector")", R"("scalar")"}});
  place.accept(kWmma);
  place.accept(kWmma, {{R"("producer")", R"("async")"},
                       {R"("WARPS":4)", R"("WARPS":2)"},
                       {R"("none")", R"("keep")"},
                       {R"("fragments")", R"("padded")"},
                       {R"("fused")", R"("separate")"}});
}

TEST_CASE(
    "ladder: other head dimensions, one warp for each 16 rows and four, PV without tensor cores") {
  Fixture wide = with("{B: 1, H: 2, L: 128, D: 96}", "  lse: true\n  window: [64, 0]");
  wide.accept(kTiled);
  wide.accept(kWmma);
  Fixture narrow = with("{B: 1, H: 2, L: 128, D: 32}", "  causal: true");
  narrow.accept(kWmma);
  narrow.accept(kWmma, {{R"("PV":"wmma")", R"("PV":"scalar")"},
                        {R"("producer")", R"("plain")"},
                        {R"("STAGES":2)", R"("STAGES":1)"},
                        {R"("fragments")", R"("plain")"}});
}

}  // namespace fa_tune::test
