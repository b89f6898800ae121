// Faults in what users need of an attention kernel beyond the plain one: the gate refuses each.

#include <doctest/doctest.h>

#include "tests/kernel_templates/feature_bench.hpp"

namespace fa_tune::test {

using namespace fa_tune::gate;

namespace {

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

}  // namespace

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
