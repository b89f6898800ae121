// What users need of an attention kernel beyond the plain one: each template takes it, alone and
// together with the rest, at every head dimension, and a fault in it is refused.

#include <doctest/doctest.h>
#include <fmt/core.h>

#include "engine/device/emulated.hpp"
#include "tests/engine/run/fixture.hpp"

using namespace fa_tune;

namespace {

const std::string kMma =
    R"({"template":"mma","BLOCK_M":32,"BLOCK_N":32,"WARPS_M":2,"WARPS_N":1,"STAGES":2,)"
    R"("LAYOUT":"padded","Q_PLACE":"in_shared","RESCALE":"always","EPILOGUE":"direct",)"
    R"("MIN_BLOCKS":0})";
const std::string kScalar = R"({"template":"scalar","BLOCK_M":8,"BLOCK_N":32,"WARPS":4})";
const test::Replacements kTogether = {{R"("WARPS_N":1)", R"("WARPS_N":2)"},
                                      {R"("in_shared")", R"("overlay")"},
                                      {R"("always")", R"("voted")"},
                                      {R"("direct")", R"("staged")"}};

struct Attention {
  std::string settings;  // lines of YAML
  int kv_heads = 4;      // of 4
  int head_dim = 64;
};

test::Replacements space_of(const Attention& problem) {
  return {{"shape: {B: 1, H: 8, Lq: 512, Lk: 512, D: 64}\n  causal: false\n  dtype: fp16",
           fmt::format("shape: {{B: 1, H: 4, Hkv: {}, L: 512, D: {}}}\n{}", problem.kv_heads,
                       problem.head_dim, problem.settings)},
          // FlashAttention-2's tile for D = 64 fits no larger one.
          {"BLOCK_M: 128, BLOCK_N: 128, WARPS_M: 4, WARPS_N: 1, STAGES: 1, LAYOUT: swizzled",
           "BLOCK_M: 32, BLOCK_N: 32, WARPS_M: 2, WARPS_N: 1, STAGES: 1, LAYOUT: padded"}};
}

// A space with a device that checks on one thread: faulty blocks may write the same place.
struct Place {
  explicit Place(const Attention& problem)
      : project(test::project("l4.yaml", space_of(problem))),
        bench(project, open_emulator(project.target, 1)) {}

  Project project;
  test::Bench bench;
};

void accept(Place& place, const std::string& base, const test::Replacements& change = {}) {
  const Config config = Config::from_json(test::replace(base, change));
  CAPTURE(place.project.problem->describe(place.project.problem->shape()));
  CAPTURE(config.to_json());
  CHECK(place.project.space.index_of(config).has_value());
  const Verdict verdict = place.bench.gate(place.project.template_of(config), config, "quick");
  CHECK_MESSAGE(verdict.right(), to_text(verdict.finding), ": ", verdict.message, " at ",
                verdict.where);
}

// Refused by the gate, not for want of compiling.
void refuse(Place& place, const std::string& name, const test::Replacements& fault,
            const std::string& base = kMma) {
  CAPTURE(name);
  const Config config = Config::from_json(base);
  const Template& sound = place.project.template_of(config);
  const Template faulty = Template::parse(sound.name(), sound.manifest_text(),
                                          test::replace(sound.cuda_text(), fault), "planted.yaml");
  const Verdict verdict = place.bench.gate(faulty, config, "quick");
  CHECK_FALSE(verdict.right());
  CHECK_MESSAGE(verdict.finding != Finding::not_bound, verdict.message);
  MESSAGE(name, ": ", to_text(verdict.finding), ", ", verdict.message);
}

const std::string kAll =
    "  dtype: bf16\n  layout: BSHD\n  lse: true\n  causal: true\n"
    "  causal_alignment: bottom_right\n  window: [100, -1]\n  softcap: 20.5\n  alibi: true";

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
    Place place(problem);
    accept(place, kMma);
  }
}

TEST_CASE("features: all together, in other variants too") {
  Place place({kAll, 2});
  accept(place, kScalar);
  accept(place, kMma);
  accept(place, kMma, kTogether);
}

TEST_CASE("features: every head dimension") {
  for (const int head_dim : {32, 96, 128, 192, 256}) {
    Place place({"  lse: true\n  window: [64, 0]", 2, head_dim});
    accept(place, kMma);
  }
}

TEST_CASE("features: planted faults are refused") {
  Place groups({"  layout: BSHD", 2});
  const std::string k_start =
      "k += interleaved_start(blockIdx.z, blockIdx.y / KV_GROUP, kv_heads, lk)";
  refuse(groups, "head h reads h % Hkv",
         {{k_start, "k += interleaved_start(blockIdx.z, blockIdx.y % kv_heads, kv_heads, lk)"}});
  refuse(groups, "K's rows as far apart as Q's",
         {{"k_stride = row_stride(kv_heads)", "k_stride = q_stride"}});
  refuse(groups, "heads and positions exchanged",
         {{"(static_cast<long long>(batch) * length * heads + head) * HEAD_DIM",
           "(static_cast<long long>(batch) * heads + head) * length * HEAD_DIM"}});
  refuse(groups, "O's rows packed",
         {{"warp_n == 0)\n    store(state, o, q_stride,",
           "warp_n == 0)\n    store(state, o, HEAD_DIM,"}});

  Place window({"  window: [64, 64]"});
  refuse(window, "left end one key early",
         {{"key < row + shift - left)", "key < row + shift - left - 1)"}});
  refuse(window, "left end one key late",
         {{"key < row + shift - left)", "key <= row + shift - left)"}});
  refuse(window, "right end one key late",
         {{"key > row + last_shift)", "key > row + last_shift + 1)"}});
  refuse(window, "right end one key early",
         {{"key > row + last_shift)", "key >= row + last_shift)"}});
  refuse(window, "first tile one too late",
         {{"first_tile = mask.first_key(first_row) / BLOCK_N",
           "first_tile = (mask.first_key(first_row) + BLOCK_N - 1) / BLOCK_N"}});
  refuse(window, "mask forgotten at the left end",
         {{"if (past_end || past_last || before_first)", "if (past_end || past_last)"}});

  Place scores(
      {"  softcap: 20\n  alibi: true\n  lse: true\n  causal_alignment: bottom_right\n"
       "  causal: true"});
  refuse(scores, "cap before the scale",
         {{"2.0f * kLog2E * scale / softcap", "2.0f * kLog2E / softcap"}});
  refuse(scores, "no cap", {{"SOFTCAP ? outer - ", "false ? outer - "}});
  refuse(scores, "bias of the other sign",
         {{"if (ALIBI) score -= slope", "if (ALIBI) score += slope"}});
  refuse(scores, "bias from the top left",
         {{"static_cast<float>(row + shift - key)", "static_cast<float>(row - key)"}});
  refuse(scores, "slope of the first head", {{"alibi_slopes[blockIdx.y]", "alibi_slopes[0]"}});
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
  refuse(scores, "LSE of one row in two",
         {{"WITH_LSE && lane % 4 == 0", "WITH_LSE && lane % 8 == 0"}});
}
