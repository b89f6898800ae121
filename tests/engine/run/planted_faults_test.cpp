// The shipped templates with one fault each, as a person or a program might make it. The gate must
// refuse every one on the emulator, and accept the template as it is with the same config.

#include <cstdlib>
#include <map>
#include <memory>

#include <doctest/doctest.h>

#include "engine/device/emulated.hpp"
#include "engine/device/open.hpp"
#include "tests/engine/run/fixture.hpp"

using namespace fa_tune;

namespace {

struct PlantedFault {
  std::string name;
  std::string from;  // template
  test::Replacements change;
  test::Replacements config;  // of the base config, as JSON text
  bool causal = false;
};

const std::map<std::string, std::string> kBase = {
    {"mma",
     R"({"template":"mma","BLOCK_M":32,"BLOCK_N":32,"WARPS_M":2,"WARPS_N":1,"STAGES":2,)"
     R"("LAYOUT":"swizzled","Q_PLACE":"in_registers","RESCALE":"always","EPILOGUE":"direct",)"
     R"("MIN_BLOCKS":0})"},
    {"scalar", R"({"template":"scalar","BLOCK_M":8,"BLOCK_N":32,"WARPS":4})"}};

const test::Replacements kStaged = {{R"("EPILOGUE":"direct")", R"("EPILOGUE":"staged")"}};
const test::Replacements kSplitKeys = {{R"("WARPS_N":1)", R"("WARPS_N":2)"}};
const test::Replacements kOneStage = {{R"("STAGES":2)", R"("STAGES":1)"}};
const test::Replacements kVoted = {{R"("RESCALE":"always")", R"("RESCALE":"voted")"}};
const test::Replacements kOverlay = {{R"("Q_PLACE":"in_registers")", R"("Q_PLACE":"overlay")"}};

const std::string kReturnAtOnce = "  const int first_row = blockIdx.x * BLOCK_M;\n";

const std::vector<PlantedFault> kFaults = {
    {"no rescale of the output",
     "mma",
     {{"          state.output[i][d][2 * h] *= shrink;\n          state.output[i][d][2 * h + 1] *= "
       "shrink;\n",
       ""}},
     {}},
    {"no rescale of the sum", "mma", {{"        state.sum[i][h] *= shrink;\n", ""}}, {}},
    {"rescale only where the maximum fell",
     "mma",
     {{"largest != before", "largest < before"}},
     kVoted},
    {"end mask off by one", "mma", {{"if (key >= lk || (kLimits", "if (key > lk || (kLimits"}}, {}},
    {"causal mask off by one",
     "mma",
     {{"key > row + last_shift)", "key > row + 1 + last_shift)"}},
     {},
     true},
    {"causal mask one too strict",
     "mma",
     {{"key > row + last_shift)", "key >= row + last_shift)"}},
     {},
     true},
    {"mask forgotten on the diagonal",
     "mma",
     {{"if (past_end || past_last || before_first)", "if (past_end)"}},
     {},
     true},
    {"missing barrier before QK",
     "mma",
     {{"    __syncthreads();\n    begin_v(tile + STAGES - 1);", "    begin_v(tile + STAGES - 1);"}},
     {}},
    {"missing barrier before PV",
     "mma",
     {{"    __syncthreads();\n    begin_k(tile + STAGES);", "    begin_k(tile + STAGES);"}},
     kOneStage},
    {"missing barrier after Q's overlay",
     "mma",
     {{"    __syncthreads();  // Q has been read by all: K may overwrite it\n", ""},
      {"    begin_k(first_tile + ahead);",
       "    begin_k(first_tile + ahead);\n    wait_copies<0>();"}},
     kOverlay},
    {"missing wait before QK",
     "mma",
     {{"    wait_copies<kPending>();\n    __syncthreads();\n    begin_v(tile + STAGES - 1);",
       "    __syncthreads();\n    begin_v(tile + STAGES - 1);"}},
     {}},
    {"missing wait before PV",
     "mma",
     {{"    wait_copies<kPending>();\n    __syncthreads();\n    begin_k(tile + STAGES);",
       "    __syncthreads();\n    begin_k(tile + STAGES);"}},
     {}},
    {"waits for one group too few",
     "mma",
     {{"kPending = 2 * (STAGES - 1);", "kPending = 2 * (STAGES - 1) + 1;"}},
     {}},
    {"missing barrier before the join",
     "mma",
     {{"  __syncthreads();\n  if (warp_n > 0) return;", "  if (warp_n > 0) return;"}},
     kSplitKeys},
    {"join without its weights",
     "mma",
     {{"slot(n, word++) * theirs[e / 2]", "slot(n, word++)"}},
     kSplitKeys},
    {"join forgets a sum",
     "mma",
     {{"state.sum[i][h] * mine[h] + their_sum * theirs[h]", "state.sum[i][h] * mine[h]"}},
     kSplitKeys},
    {"last tile skipped",
     "mma",
     {{"for (int tile = first_tile; tile < end_tile; ++tile) {",
       "for (int tile = first_tile; tile < end_tile - 1; ++tile) {"}},
     {}},
    {"first tile skipped",
     "mma",
     {{"for (int tile = first_tile; tile < end_tile; ++tile) {\n    const int first_key",
       "for (int tile = first_tile; tile < end_tile; ++tile) {\n    if (tile == 0 && end_tile > 1) "
       "{wait_copies<0>(); "
       "__syncthreads(); begin_v(STAGES - 1); begin_k(STAGES); continue;}\n    const int "
       "first_key"}},
     {}},
    {"zero output",
     "mma",
     {{"pack(state.output[i][d][2 * h] * inverse, state.output[i][d][2 * h + 1] * inverse)",
       "pack(0.0f, 0.0f)"}},
     {}},
    {"nothing written",
     "mma",
     {{kReturnAtOnce, kReturnAtOnce + "  if (scale != 0.0f) return;\n"}},
     {}},
    {"copied input",
     "mma",
     {{kReturnAtOnce, kReturnAtOnce +
                          "  for (int i = threadIdx.x; i < BLOCK_M * HEAD_DIM; i += kThreads)\n"
                          "    if (first_row + i / HEAD_DIM < lq) o[first_row * HEAD_DIM + i] = "
                          "q[first_row * HEAD_DIM + i];\n  if (scale != 0.0f) return;\n"}},
     {}},
    {"NaN in one row",
     "mma",
     {{"sum > 0.0f ? 1.0f / sum : 0.0f;  // no key",
       "tile_row_is_first ? 0.0f / (sum - sum) : 1.0f / sum;  // no key"},
      {"      float sum = state.sum[i][h];\n",
       "      const bool tile_row_is_first = warp_row + i * 16 + h * 8 + lane / 4 == 0;\n      "
       "float "
       "sum = state.sum[i][h];\n"}},
     {}},
    {"scale wrong by one percent",
     "mma",
     {{"kShaped ? 1.0f : scale * kLog2E", "kShaped ? 1.0f : scale * 1.01f * kLog2E"}},
     {}},
    {"exp2 taken for exp",
     "mma",
     {{"kShaped ? 1.0f : scale * kLog2E", "kShaped ? 1.0f : scale"}},
     {}},
    {"wrong head", "mma", {{"gridDim.y + blockIdx.y;", "gridDim.y + blockIdx.y / 2 * 2;"}}, {}},
    {"batch forgotten",
     "mma",
     {{"static_cast<long long>(blockIdx.z) * gridDim.y + blockIdx.y",
       "static_cast<long long>(blockIdx.y)"}},
     {}},
    {"transposed V", "mma", {{"ldmatrix_x4_transposed(v, v_tile", "ldmatrix_x4(v, v_tile"}}, {}},
    {"keys of V shifted by one",
     "mma",
     {{"warp_key + step * 16 + lane % 16;", "warp_key + step * 16 + (lane + 1) % 16;"}},
     {}},
    {"K fragments exchanged",
     "mma",
     {{"mma_16x8x16(scores[i][j], q[i], k[0], k[1]);",
       "mma_16x8x16(scores[i][j], q[i], k[2], k[3]);"}},
     {}},
    {"written past the end",
     "mma",
     {{"} else if (first_row + tile_row < lq) {", "} else if (first_row + tile_row <= lq) {"}},
     {}},
    {"half of the rows stored",
     "mma",
     {{"index < kTotal; index += 32", "index < kTotal / 2; index += 32"}},
     kStaged},
    {"maximum of two lanes of four",
     "mma",
     {{"      largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 2));\n", ""}},
     {}},
    {"sum of two lanes of four",
     "mma",
     {{"      sum += __shfl_xor_sync(0xffffffffu, sum, 2);\n", ""}},
     {}},
    {"probabilities cut to 8 bits",
     "mma",
     {{"a[i][2 * part] = pack(fragment[0], fragment[1]);",
       "a[i][2 * part] = pack(fragment[0], fragment[1]) & 0xff00ff00u;"}},
     {}},
    {"an input overwritten",
     "mma",
     {{kReturnAtOnce,
       kReturnAtOnce +
           "  if (threadIdx.x == 0 && blockIdx.x == 0) const_cast<Element*>(k)[0] ^= 1;\n"}},
     {}},
    {"missing barrier after the tile",
     "scalar",
     {{"    __syncthreads();\n\n    for (int group", "\n    for (int group"}},
     {}},
    {"missing barrier before the tile",
     "scalar",
     {{"    __syncthreads();  // the tile before has been read by all\n", ""}},
     {}},
    {"one key of 32 left out",
     "scalar",
     {{"for (int j = 0; j < 32; ++j) {", "for (int j = 0; j < 31; ++j) {"}},
     {}},
    {"one dimension left out",
     "scalar",
     {{"for (int d = 0; d < HEAD_DIM; d += 2) {", "for (int d = 0; d < HEAD_DIM - 2; d += 2) {"}},
     {}},
    {"read past the end",
     "scalar",
     {{"if (tile + key < lk) {", "if (tile + key < lk + 4096) {"}},
     {}},
};

const Project& project(bool causal) {
  static const Project plain = test::project("l4.yaml");
  static const Project masked = test::project("l4.yaml", {{"causal: false", "causal: true"}});
  return causal ? masked : plain;
}

// `FA_TUNE_TEST_DEVICE` names another device. On a GPU a race may go well by chance, so there the
// count is a finding and not a promise.
std::string device() {
  const char* given = std::getenv("FA_TUNE_TEST_DEVICE");
  return given != nullptr ? given : "emulator:l4";
}

test::Bench& bench(bool causal) {
  static test::Bench plain(project(false), device());
  static test::Bench masked(project(true), device());
  return causal ? masked : plain;
}

// Faulty kernels may write one place from two blocks. On an emulator that runs blocks on several
// threads, that is a race of this process too, so here it runs them on one.
std::unique_ptr<Device> device_for_faults(const Project& project) {
  if (device() == "emulator:l4") return open_emulator(project.target, 1);
  return open_device(device(), project.target, test::root());
}

test::Bench& bench_for_faults(bool causal) {
  static test::Bench plain(project(false), device_for_faults(project(false)));
  static test::Bench masked(project(true), device_for_faults(project(true)));
  return causal ? masked : plain;
}

}  // namespace

TEST_CASE("every planted fault is refused, and its template as it is accepted") {
  int refused = 0;
  for (const PlantedFault& fault : kFaults) {
    CAPTURE(fault.name);
    const Config config = Config::from_json(test::replace(kBase.at(fault.from), fault.config));
    const Template& sound = project(fault.causal).template_of(config);
    const Template faulty =
        Template::parse(sound.name(), sound.manifest_text(),
                        test::replace(sound.cuda_text(), fault.change), "planted.yaml");
    const Verdict verdict = bench_for_faults(fault.causal).gate(faulty, config, "quick");
    CHECK_FALSE(verdict.right());
    CHECK_MESSAGE(verdict.finding != Finding::not_bound, verdict.message);
    refused += !verdict.right();
    MESSAGE(fault.name, ": ", to_text(verdict.finding), ", ", verdict.message);
    const Verdict right = bench(fault.causal).gate(sound, config, "quick");
    CHECK_MESSAGE(right.right(), right.message);
  }
  MESSAGE("killed ", refused, " of ", kFaults.size());
}
