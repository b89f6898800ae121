// What users need of an attention kernel beyond the plain one: each template takes it, alone and
// together with the rest, at every head dimension, and a fault in it is refused.

#include <cstdlib>
#include <memory>

#include <doctest/doctest.h>
#include <fmt/core.h>

#include "engine/device/local/emulated.hpp"
#include "engine/device/local/open.hpp"
#include "engine/report/export.hpp"
#include "engine/tuner/task/argument_notes.hpp"
#include "engine/tuner/task/exported_kernel.hpp"
#include "engine/tuner/task/make_problem.hpp"
#include "tests/cached_nvrtc.hpp"
#include "tests/kernel_templates/task_bench.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::gate;
using namespace fa_tune::kernel;
using namespace fa_tune::problem;
using namespace fa_tune::report;
using namespace fa_tune::tuner;

namespace {

const std::string kMma =
    R"({"template":"mma","BLOCK_M":32,"BLOCK_N":32,"WARPS_M":2,"WARPS_N":1,"STAGES":2,)"
    R"("LAYOUT":"padded","Q_PLACE":"in_shared","RESCALE":"always","EPILOGUE":"direct",)"
    R"("MIN_BLOCKS":0})";
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

struct Attention {
  std::string settings;  // lines of YAML
  int kv_heads = 4;      // of 4
  int head_dim = 64;
};

// The shipped space with that problem, and with presets that fit every head dimension.
test::Replacements space_of(const Attention& problem) {
  return {{"shape: {B: 1, H: 8, Lq: 512, Lk: 512, D: 64}\n  causal: false\n  dtype: fp16",
           fmt::format("shape: {{B: 1, H: 4, Hkv: {}, L: 512, D: {}}}\n{}", problem.kv_heads,
                       problem.head_dim, problem.settings)},
          {"BLOCK_M: 128, BLOCK_N: 128, WARPS_M: 4, WARPS_N: 1, STAGES: 1, LAYOUT: swizzled",
           "BLOCK_M: 32, BLOCK_N: 32, WARPS_M: 2, WARPS_N: 1, STAGES: 1, LAYOUT: padded"}};
}

test::Replacements hopper_space_of(const Attention& problem) {
  test::Replacements change = space_of(problem);
  // Of its presets those for D = 64, changed as follows, stand for every head dimension.
  for (const char* only : {"fa2: {when: problem.D <= 64, ", "fa3: {when: problem.D <= 64, "})
    change.emplace_back(only, std::string(only).substr(0, 6));
  for (const char* other :
       {"fa2_d128", "fa2_d256", "fa3_d128", "fa3_d128_causal", "fa3_d256", "evolved_four"})
    change.emplace_back(std::string("  ") + other + ": {when: ",
                        std::string("  ") + other + ": {when: false and ");
  change.emplace_back("CONSUMERS: 3, BLOCK_N: 128, STAGES: 2",
                      "CONSUMERS: 1, BLOCK_N: 32, STAGES: 2");
  change.emplace_back("PING_PONG: true, RESCALE", "PING_PONG: false, RESCALE");
  change.emplace_back("Q_STAGES: 2, CARRY: false, O_PLACE: own",
                      "Q_STAGES: 1, CARRY: false, O_PLACE: over_q");
  change.emplace_back(
      "  CLUSTER: {",
      "  PACK_HEADS: {values: [false, true], when: \"template == 'wgmma'\"}\n  CLUSTER: {");
  change.emplace_back("PERSISTENT: true, KEY_GROUPS: 1}",
                      "PERSISTENT: true, KEY_GROUPS: 1, PACK_HEADS: false}");
  return change;
}

// `FA_TUNE_TEST_DEVICE` names another device than the target's emulator, such as cuda:0 (leave the
// planted faults out there: -tce="*planted*"). That emulator checks on one thread, as faulty blocks
// may write the same place.
std::unique_ptr<Device> device_for(const TuningTask& task) {
  const char* given = std::getenv("FA_TUNE_TEST_DEVICE");
  if (given == nullptr) return open_emulator(task.target, 1);
  return open_device(given, task.target, test::root());
}

TaskBench bench_of(TuningTask task) {
  auto device = device_for(task);
  return {std::move(task), std::move(device)};
}

TaskBench on_l4(const Attention& problem) {
  return bench_of(test::task("l4.yaml", space_of(problem)));
}
TaskBench on_h100(const Attention& problem) {
  return bench_of(test::task("h100.yaml", hopper_space_of(problem)));
}

TaskBench on_h100_mma(const Attention& problem) {
  return bench_of(test::task("h100_mma.yaml", space_of(problem)));
}

void accept(TaskBench& place, const std::string& base, const test::Replacements& change = {}) {
  place.accept(Config::from_json(test::replace(base, change)));
}

// Refused by the gate, not for want of compiling.
void refuse(TaskBench& place, const std::string& name, const test::Replacements& fault,
            const std::string& base = kMma) {
  CAPTURE(name);
  const auto verdict = place.gate_fault(Config::from_json(base), fault);
  if (!verdict) return;
  CHECK_FALSE(verdict->passed());
  CHECK_MESSAGE(verdict->finding != Finding::kNotBound, verdict->message);
  MESSAGE(name, ": ", verdict->finding, ", ", verdict->message);
}

std::string with_packing(bool packed) {
  return kWgmma.substr(0, kWgmma.size() - 1) +
         (packed ? R"(,"PACK_HEADS":true})" : R"(,"PACK_HEADS":false})");
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

TEST_CASE("features: planted faults are refused") {
  TaskBench groups = on_l4({"  layout: BSHD", 2});
  const std::string k_start = "k += interleaved_start(batch, head / KV_GROUP, kv_heads, lk)";
  refuse(groups, "head h reads h % Hkv",
         {{k_start, "k += interleaved_start(batch, head % kv_heads, kv_heads, lk)"}});
  refuse(groups, "K's rows as far apart as Q's",
         {{"row_stride(heads / KV_GROUP), lk)", "q_stride, lk)"}});
  refuse(groups, "heads and positions exchanged",
         {{"(static_cast<long long>(batch) * length * heads + head) * HEAD_DIM",
           "(static_cast<long long>(batch) * heads + head) * length * HEAD_DIM"}});
  refuse(groups, "O's rows packed",
         {{"(own_row + lane / 4) * q_stride +", "(own_row + lane / 4) * HEAD_DIM +"}});

  TaskBench window = on_l4({"  window: [64, 64]"});
  refuse(window, "left end one key early",
         {{"mask.first_key(query) - first_key", "mask.first_key(query) - 1 - first_key"}});
  refuse(window, "left end one key late",
         {{"mask.first_key(query) - first_key", "mask.first_key(query) + 1 - first_key"}});
  refuse(window, "right end one key late",
         {{"mask.end_key(query) - first_key", "mask.end_key(query) + 1 - first_key"}});
  refuse(window, "right end one key early",
         {{"mask.end_key(query) - first_key", "mask.end_key(query) - 1 - first_key"}});
  refuse(window, "first tile one too late",
         {{"first_tile = mask.first_key(rows.first) / BLOCK_N",
           "first_tile = (mask.first_key(rows.first) + BLOCK_N - 1) / BLOCK_N"}});
  refuse(
      window, "mask forgotten at the left end",
      {{"return past_end || past_last || before_first;", "needs_mask = past_end || past_last;"}});

  TaskBench scores =
      on_l4({"  softcap: 20\n  alibi: true\n  lse: true\n  causal_alignment: bottom_right\n"
             "  causal: true"});
  refuse(scores, "cap before the scale",
         {{"2.0f * kLog2E * scale / softcap", "2.0f * kLog2E / softcap"}});
  refuse(scores, "no cap", {{"SOFTCAP ? outer - ", "false ? outer - "}});
  refuse(scores, "bias of the other sign",
         {{"if (ALIBI) score -= slope", "if (ALIBI) score += slope"}});
  refuse(scores, "bias from the top left",
         {{"static_cast<float>(row + shift - key)", "static_cast<float>(row - key)"}});
  refuse(scores, "slope of the first head", {{"alibi_slopes[head_of_batch]", "alibi_slopes[0]"}});
  refuse(scores, "bias not as an exponent of two",
         {{"slope(slope_of_head * kLog2E)", "slope(slope_of_head)"}});
  refuse(scores, "LSE in powers of two",
         {{"(maximum + log2_approx(sum)) * kLn2", "maximum + log2_approx(sum)"}});
  refuse(scores, "LSE without the maximum",
         {{"(maximum + log2_approx(sum)) * kLn2", "log2_approx(sum) * kLn2"}});
  refuse(scores, "LSE NaN where a row sees nothing",
         {{"sum > 0.0f ? (maximum + log2_approx(sum)) * kLn2 : minus_infinity()",
           "(maximum - maximum + log2_approx(sum)) * kLn2 + maximum * kLn2 * (sum > 0.0f ? 1.0f : "
           "0.0f)"}});
  refuse(scores, "LSE of another head's rows", {{"lse + head * lq", "lse + (head ^ 1) * lq"}});
  refuse(
      scores, "LSE of one row in two",
      {{"WITH_LSE && warp_n == 0 && lane % 4 == 0", "WITH_LSE && warp_n == 0 && lane % 8 == 0"}});
}

TEST_CASE("features: planted faults in wgmma are refused") {
  const std::string base = with_packing(false);
  TaskBench all = on_h100({"  lse: true\n  window: [64, 64]\n  alibi: true", 2});
  refuse(all, "head h reads h % Hkv",
         {{"PACK_HEADS ? head : head / KV_GROUP", "PACK_HEADS ? head : head % 2"}}, base);
  refuse(all, "left end one key early", {{"8 * i + c < first)", "8 * i + c + 1 < first)"}}, base);
  refuse(all, "tiles before the window's first not masked",
         {{"(WINDOW_LEFT && j < work.clean.first)", "false"}}, base);
  refuse(all, "the producer begins one tile later than its readers",
         {{"for (int j = tiles.end - 1; j >= tiles.first; --j) {\n      load_keys(base + kK,",
           "for (int j = tiles.end - 1; j > tiles.first; --j) {\n      load_keys(base + kK,"}},
         base);
  refuse(all, "slopes of the thread's other row's head",
         {{"features_.alibi_slopes[head_of(work, own_row(work) + 8 * h)]",
           "features_.alibi_slopes[head_of(work, own_row(work)) ^ 1]"}},
         base);
  refuse(all, "LSE of the first head", {{"+ head_of(work, row);", "+ 0;"}}, base);

  TaskBench packed = on_h100({"  lse: true\n  causal: true\n  alibi: true", 1});
  const std::string packing = with_packing(true);
  refuse(packed, "rows taken for positions",
         {{"int position_of(int row) { return row / kPacked; }",
           "int position_of(int row) { return row; }"}},
         packing);
  refuse(packed, "heads of a group exchanged", {{"+ row % kPacked;", "+ (row + 1) % kPacked;"}},
         packing);
}

}  // namespace fa_tune::test
