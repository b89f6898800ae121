// What users need of an attention kernel beyond the plain one: each template takes it, alone and
// together with the rest, at every head dimension.

#include <doctest/doctest.h>
#include <fmt/core.h>

#include "engine/report/export.hpp"
#include "engine/tuner/task/argument_notes.hpp"
#include "engine/tuner/task/exported_kernel.hpp"
#include "engine/tuner/task/make_problem.hpp"
#include "tests/cached_nvrtc.hpp"
#include "tests/kernel_templates/feature_bench.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::gate;
using namespace fa_tune::kernel;
using namespace fa_tune::problem;
using namespace fa_tune::report;
using namespace fa_tune::tuner;

namespace {

const std::string kScalar = R"({"template":"scalar","BLOCK_M":8,"BLOCK_N":32,"WARPS":4})";
const std::string kApart =
    R"({"template":"mma","BLOCK_M":32,"BLOCK_N":64,"WARPS_M":2,"WARPS_N":2,"STAGES":2,)"
    R"("LAYOUT":"swizzled","Q_PLACE":"in_registers","RESCALE":"threshold","EPILOGUE":"direct",)"
    R"("MIN_BLOCKS":0,"SCHEDULE":"by_rows","TENSOR_COPY":true,"K_PARTS":2,"MASKED_TILES":"apart",)"
    R"("EARLY_P":4,"JOIN_PLACE":"own"})";
const test::Replacements kTogether = {{R"("WARPS_N":1)", R"("WARPS_N":2)"},
                                      {R"("in_shared")", R"("overlay")"},
                                      {R"("always")", R"("voted")"},
                                      {R"("direct")", R"("staged")"}};

void accept(TaskBench& place, const std::string& base, const test::Replacements& change = {}) {
  place.accept(Config::from_json(test::replace(base, change)));
}

}  // namespace

TEST_CASE("features: each alone") {
  for (const Attention& problem :
       std::vector<Attention>{{"  layout: BSHD"},
                              {"  lse: true"},
                              {"  window: [64, -1]"},
                              {"  window: [-1, 64]\n  causal_alignment: bottom_right"},
                              {"  softcap: 20"},
                              {"  alibi: true"},
                              {"  dtype: fp16", 2}}) {
    TaskBench place = on_l4(problem);
    accept(place, kMma);
  }
}

TEST_CASE("features: all together, in other variants too") {
  TaskBench place = on_l4({kAllFeatures, 2});
  accept(place, kScalar);
  accept(place, kMma);
  accept(place, kMma, kTogether);
  accept(place, kMma, {{R"("always")", R"("threshold")"}});
}

TEST_CASE("features: mma with tiles apart, and references that stay behind") {
  for (const Attention& problem :
       std::vector<Attention>{{"  causal: true"},
                              {"  window: [64, -1]\n  causal_alignment: bottom_right"},
                              {"  window: [-1, 64]\n  softcap: 20\n  alibi: true"},
                              {kAllFeatures, 2}}) {
    TaskBench place = on_h100_mma(problem);
    accept(place, kApart);
  }
}

TEST_CASE("features: mma with the maxima of the first keys, and those of all where sums outgrow") {
  for (const Attention& problem :
       std::vector<Attention>{{"  causal: true\n  lse: true", 2},
                              {"  causal: true\n  causal_alignment: bottom_right"},
                              {"  window: [-1, 64]\n  layout: BSHD"}}) {
    TaskBench place = on_l4(problem);
    accept(place, kMma, {{R"("always")", R"("by_sum")"}});
    TaskBench copied = on_h100_mma(problem);
    accept(copied, kApart, {{R"("threshold")", R"("by_sum")"}});
    accept(copied, kApart,
           {{R"("threshold")", R"("by_sum")"},
            {R"("apart")", R"("among")"},
            {R"("own")", R"("over_kv")"},
            {R"("STAGES":2)", R"("STAGES":1)"}});
    accept(copied, kApart,
           {{R"("threshold")", R"("by_sum")"},
            {R"("BLOCK_N":64)", R"("BLOCK_N":128)"},
            {R"("EARLY_P":4)", R"("EARLY_P":2)"}});
  }
}

TEST_CASE("features: mma leaves out parts of keys that no row of a block sees") {
  for (const Attention& problem : std::vector<Attention>{
           {"  causal: true\n  lse: true", 2},
           {"  causal: true\n  causal_alignment: bottom_right\n  layout: BSHD"}}) {
    TaskBench copied = on_h100_mma(problem);
    const test::Replacements by_part = {{R"("threshold")", R"("by_sum")"},
                                        {R"("apart")", R"("by_part")"}};
    accept(copied, kApart, by_part);
    test::Replacements other_sizes = by_part;
    other_sizes.insert(other_sizes.end(), {{R"("BLOCK_M":32)", R"("BLOCK_M":64)"},
                                           {R"("BLOCK_N":64)", R"("BLOCK_N":128)"},
                                           {R"("STAGES":2)", R"("STAGES":1)"}});
    accept(copied, kApart, other_sizes);
    // A warp has more rows than a part has keys.
    test::Replacements small_parts = by_part;
    small_parts.insert(small_parts.end(), {{R"("WARPS_N":2)", R"("WARPS_N":1)"},
                                           {R"("K_PARTS":2)", R"("K_PARTS":4)"},
                                           {R"("own")", R"("over_kv")"}});
    test::Replacements many_rows = small_parts;
    many_rows.emplace_back(R"("WARPS_M":2)", R"("WARPS_M":1)");
    accept(copied, kApart, many_rows);
    // Sums of few keys outgrow their room here, and maxima are looked for in what has come.
    small_parts.insert(small_parts.end(), {{R"("WARPS_M":2)", R"("WARPS_M":4)"},
                                           {R"("BLOCK_M":32)", R"("BLOCK_M":64)"},
                                           {R"("BLOCK_N":64)", R"("BLOCK_N":128)"},
                                           {R"("STAGES":2)", R"("STAGES":1)"}});
    accept(copied, kApart, small_parts);
  }
}

TEST_CASE("features: mma with rows of both ends in a block") {
  for (const Attention& problem : std::vector<Attention>{
           {"  causal: true\n  lse: true", 2},
           {"  causal: true\n  causal_alignment: bottom_right\n  layout: BSHD"}}) {
    TaskBench copied = on_h100_mma(problem);
    const test::Replacements both_ends = {{R"("by_rows")", R"("both_ends")"}};
    accept(copied, kApart, both_ends);
    test::Replacements by_part = both_ends;
    by_part.insert(by_part.end(), {{R"("threshold")", R"("by_sum")"},
                                   {R"("apart")", R"("by_part")"},
                                   {R"("BLOCK_N":64)", R"("BLOCK_N":128)"},
                                   {R"("STAGES":2)", R"("STAGES":1)"},
                                   {R"("direct")", R"("staged")"}});
    accept(copied, kApart, by_part);
    test::Replacements by_all_threads = both_ends;
    by_all_threads.insert(by_all_threads.end(),
                          {{R"("TENSOR_COPY":true,"K_PARTS":2,)", R"("TENSOR_COPY":false,)"},
                           {R"("EARLY_P":4,)", ""},
                           {R"("in_registers")", R"("overlay")"},
                           {R"("BLOCK_M":32)", R"("BLOCK_M":64)"}});
    accept(copied, kApart, by_all_threads);
  }
}

TEST_CASE("features: every head dimension") {
  for (const int head_dim : {32, 96, 192, 256}) {
    TaskBench place = on_l4({"  lse: true\n  window: [64, 0]", 4, head_dim});
    accept(place, kMma);
  }
}

TEST_CASE("features: wgmma, each alone and all together") {
  const std::string plain = with_packing(false);
  for (const Attention& problem :
       std::vector<Attention>{{"  layout: BSHD\n  lse: true", 2},
                              {"  window: [64, -1]\n  causal_alignment: bottom_right"},
                              {"  window: [-1, 64]\n  softcap: 20\n  alibi: true"}}) {
    TaskBench place = on_h100(problem);
    accept(place, plain);
  }
  TaskBench place = on_h100({kAllFeatures, 2});
  accept(place, plain);
  accept(place, plain,
         {{R"("ahead")", R"("chained")"},
          {R"("PV_PARTS":1)", R"("PV_PARTS":2)"},
          {R"("EXP_POLYNOMIAL":0)", R"("EXP_POLYNOMIAL":2)"},
          {R"("CLUSTER":1)", R"("CLUSTER":2)"},
          {R"("always")", R"("threshold")"}});
  accept(place, plain,
         {{R"("PING_PONG":false)", R"("PING_PONG":true)"},
          {R"("CARRY":false)", R"("CARRY":true)"},
          {R"("over_q")", R"("own")"},
          {R"("CONSUMERS":2)", R"("CONSUMERS":3)"}});
}

TEST_CASE("features: wgmma packs heads") {
  TaskBench place = on_h100({kAllFeatures, 1});
  accept(place, with_packing(true));
  accept(place, with_packing(true),
         {{R"("ahead")", R"("none")"}, {R"("CLUSTER":1)", R"("CLUSTER":2)"}});
  TaskBench rows = on_h100({"  lse: true", 2});
  accept(rows, with_packing(true));
}

TEST_CASE("features: wgmma, every head dimension") {
  for (const int head_dim : {96, 192, 256}) {
    TaskBench place = on_h100({"  lse: true\n  window: [64, 0]", 4, head_dim});
    accept(place, with_packing(false), {{R"("CONSUMERS":2)", R"("CONSUMERS":1)"}});
  }
}

TEST_CASE("features: an exported kernel says what its arguments are, and is gated again") {
  TaskBench place = on_h100({kAllFeatures, 2});
  const TuningTask& task = place.task;
  const Problem& problem = *task.problem;
  const Config config = Config::from_json(with_packing(true));
  const Template& from = task.template_of(config);
  const Constants scope = task.scope(problem.shape());
  ExportFacts facts;
  facts.arch = "sm_90a";
  facts.target = "h100";
  facts.template_name = from.name();
  facts.manifest_text = from.manifest_text();
  facts.kernel = from.kernel();
  facts.config = config;
  facts.problem = problem.kind();
  facts.settings = task.file.problem_settings;
  facts.shape = problem.shape();
  add_launch(from, problem, problem.shape(), scope, facts);
  facts.body = from.render(config, problem.defines(problem.shape())).text;
  const std::string text = export_text(facts);
  for (const char* words :
       {"bf16 [B,S,H,D] = [1,512,4,64]", "bf16 [B,S,H,D] = [1,512,2,64]", "D, H % 2, S, H / 2, B",
        "// argument   LSE: float32 [B,H,S] = [1,4,512], output: the natural logarithm",
        "// argument   softcap: ", "// argument   window_left: "})
    CHECK_MESSAGE(text.find(words) != std::string::npos, words);

  const Exported read = parse_exported(text, "winner.cu");
  const auto again = make_problem(read.problem, read.settings, "");
  CHECK(again->shape() == problem.shape());
  ExportedKernel kernel(read, *again, task.target, test::cached_nvrtc(), place.bench.device());
  TruthCache truth(*again);
  const Verdict verdict = Gate(place.bench.device(), truth)
                              .check([&](const Constants& shape) { return kernel.bind(shape); },
                                     gate_cases(again->suites().front(), 7));
  CHECK_MESSAGE(verdict.passed(), verdict.finding, ": ", verdict.message);
}

}  // namespace fa_tune::test
