#include "engine/kernel/template/template.hpp"

#include <doctest/doctest.h>

#include "engine/kernel/compile/compiler.hpp"
#include "engine/kernel/compile/nvrtc_compiler.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/util/hash.hpp"

namespace fa_tune::test {

using namespace fa_tune::kernel;
namespace fs = std::filesystem;

namespace {

const fs::path kManifest =
    fs::path(FA_TUNE_ROOT) / "tests/engine/kernel/template/data/kernel_templates/tiny/twice.yaml";

Template twice() { return Template::load("twice", kManifest); }

Config config(std::int64_t block, bool fast = true, const std::string& mode = "plain") {
  return Config({{"template", std::string("twice")},
                 {"BLOCK", block},
                 {"FAST", fast},
                 {"MODE", mode},
                 {"UNUSED", std::int64_t{7}}});
}

Constants constants(std::int64_t n, std::int64_t width = 4) {
  return {{"problem.n", n}, {"problem.width", width}, {"device.threads", std::int64_t{1024}}};
}

// The manifest of a template "t" with some lines of its own instead of the usual ones.
std::string manifest(const std::string& launch, const std::string& more = "") {
  return "source: t.cu\nkernel: t\nproblem: p\nparameters: [A, B]\narguments: [x]\n" + launch +
         more;
}
const std::string kLaunch = "launch: {grid: [1], block: [1]}\n";

Template parsed(const std::string& text) { return Template::parse("t", text, "code\n", "t.yaml"); }

// The message with which the manifest is refused.
std::string refusal(const std::string& text) {
  try {
    parsed(text);
  } catch (const UserError& error) {
    return error.what();
  }
  return "accepted";
}

Config ab(std::int64_t a, std::int64_t b) { return Config({{"A", a}, {"B", b}}); }

std::string launch_refusal(const std::string& launch, std::int64_t a, std::int64_t b = 1) {
  try {
    static_cast<void>(parsed(manifest("launch: " + launch + "\n")).require_plan(ab(a, b), {}));
  } catch (const UserError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("template: what the manifest says") {
  const Template loaded = twice();
  CHECK(loaded.name() == "twice");
  CHECK(loaded.kernel() == "twice");
  CHECK(loaded.problem() == "tiny");
  CHECK(loaded.parameters() == std::vector<std::string>{"BLOCK", "FAST", "MODE"});
  CHECK(loaded.require_plan(config(96), constants(1000)).arguments ==
        std::vector<std::string>{"x", "n"});
  REQUIRE(loaded.derived().size() == 4);
  CHECK(loaded.derived()[1].name == "THREADS");
  CHECK(loaded.derived()[1].expression.text() == "WARPS * 32");
  CHECK(loaded.derived()[1].only_for == "twice");
  REQUIRE(loaded.requirements().size() == 2);
  CHECK(loaded.requirements()[0].expression.text() == "BLOCK % 32 == 0");
  CHECK(loaded.requirements()[0].because.empty());
  CHECK(loaded.requirements()[1].because == "a block has room for so many");
  CHECK(loaded.requirements()[1].only_for == "twice");
  CHECK(loaded.manifest_text() == read_file(kManifest));
}

TEST_CASE("template: the rendered text, to the letter") {
  const Source source = twice().render(config(64), {{"WIDTH", "4"}});
  CHECK(source.kernel == "twice");
  CHECK(source.hash == sha256(source.text));
  CHECK(source.text == R"(#define WIDTH 4
#define BLOCK 64
#define FAST 1
#define MODE plain
#define THREADS 64

// Doubles a vector: the smallest template with includes, parameters and a derived value.
// ---- parts/index.cuh ----
// ---- arith.cuh ----
/* The include of a comment stays where it is:
#include "absent.cuh"
*/
#if FAST
__device__ float doubled(float x) { return x + x; }
#else
__device__ float doubled(float x) { return Mode::MODE * x; }
#endif
// ---- end of arith.cuh ----
__device__ int first_index() { return blockIdx.x * BLOCK + threadIdx.x; }
// ---- end of parts/index.cuh ----

extern "C" __global__ void __launch_bounds__(THREADS) twice(float* x, int n) {
  const int i = first_index();
  if (i < n) x[i] = doubled(x[i]);
}
)");
  CHECK(
      twice().render(config(64, false), {}).text.starts_with("#define BLOCK 64\n#define FAST 0\n"));
}

TEST_CASE("template: what is rendered compiles, also from its own flat text") {
  const Template loaded = twice();
  const Source source = loaded.render(config(64), {});
  const auto compiler = open_nvrtc();
  const CompileOutcome outcome = compiler->compile({source, "sm_89", BinaryKind::ptx, {}});
  if (!outcome) FAIL(outcome.error().message);
  CHECK(outcome->warnings.empty());
  const Template again =
      Template::parse("twice", loaded.manifest_text(), loaded.cuda_text(), "exported.cu");
  CHECK(again.render(config(64), {}).text == source.text);
}

TEST_CASE("template: a config without a parameter, a name defined twice") {
  CHECK_THROWS_WITH_AS(parsed(manifest(kLaunch)).render(Config({{"A", std::int64_t{1}}}), {}),
                       doctest::Contains("template 't' takes B"), UserError);
  CHECK_THROWS_WITH_AS(parsed(manifest(kLaunch)).render(ab(1, 2), {{"A", "1"}}),
                       doctest::Contains("A is defined by the problem"), UserError);
}

TEST_CASE("template: the launch follows the config, the shape and the derived values in order") {
  const LaunchConfig launch = twice().require_plan(config(96), constants(1000)).config;
  CHECK(launch.grid == Dim3{11, 1, 1});
  CHECK(launch.block == Dim3{96, 1, 1});
  CHECK(launch.cluster == Dim3{1, 1, 1});
  CHECK(launch.dynamic_shared_bytes == 384);
  const Template full = parsed(
      manifest("launch: {grid: [A, B, 4], block: [2, B], cluster: [A, 2, 1], shared: A * B}\n"));
  const LaunchConfig other = full.require_plan(ab(8, 6), {}).config;
  CHECK(other.grid == Dim3{8, 6, 4});
  CHECK(other.block == Dim3{2, 6, 1});
  CHECK(other.cluster == Dim3{8, 2, 1});
  CHECK(other.dynamic_shared_bytes == 48);
  CHECK(parsed(manifest(kLaunch)).require_plan(ab(1, 1), {}).config.dynamic_shared_bytes == 0);
}

TEST_CASE("template: a derived value hides another template's parameter of the same name") {
  const Template loaded = twice();
  Config both = config(64);
  both.set("WARPS", std::int64_t{1});
  CHECK(loaded.require_plan(both, constants(64)).config.block == Dim3{64, 1, 1});
}

TEST_CASE("template: sizes outside of what CUDA allows are refused with place and figures") {
  CHECK(launch_refusal("{grid: [1, A], block: [1]}", 65'535) == "accepted");
  CHECK(launch_refusal("{grid: [1, A], block: [1]}", 65'536) ==
        "t.yaml:6:20: grid.y is A = 65536, expected 1 to 65535, for the config "
        "{\"A\":65536,\"B\":1}");
  CHECK(launch_refusal("{grid: [1, 1, A], block: [1]}", 65'536).find("grid.z") !=
        std::string::npos);
  CHECK(launch_refusal("{grid: [A], block: [1]}", 2'147'483'647) == "accepted");
  CHECK(launch_refusal("{grid: [A], block: [1]}", 2'147'483'648).find("grid.x") !=
        std::string::npos);
  CHECK(launch_refusal("{grid: [A], block: [1]}", 0).find("grid.x") != std::string::npos);
  CHECK(launch_refusal("{grid: [1], block: [1, A]}", -3).find("block.y") != std::string::npos);
  CHECK(launch_refusal("{grid: [1], block: [A]}", 1'024) == "accepted");
  CHECK(launch_refusal("{grid: [1], block: [A]}", 1'025).find("block.x") != std::string::npos);
  CHECK(launch_refusal("{grid: [1], block: [1, 1, A]}", 65).find("block.z") != std::string::npos);
  CHECK(launch_refusal("{grid: [1], block: [A, B]}", 33, 32).find("33 x 32 x 1 = 1056") !=
        std::string::npos);
  CHECK(launch_refusal("{grid: [1], block: [1], shared: A}", -1).find("shared is A = -1") !=
        std::string::npos);
  CHECK(launch_refusal("{grid: [1], block: [1], shared: A}", 2'147'483'648) == "accepted");
  CHECK(launch_refusal("{grid: [1], block: [1], shared: A}", 2'147'483'649).find("shared") !=
        std::string::npos);
  CHECK(launch_refusal("{grid: [6], block: [1], cluster: [A]}", 4).find("does not divide") !=
        std::string::npos);
  CHECK(launch_refusal("{grid: [16, 2], block: [1], cluster: [A, 2]}", 16).find("cluster is") !=
        std::string::npos);
  CHECK(launch_refusal("{grid: [A == 1], block: [1]}", 1) != "accepted");
  CHECK(launch_refusal("{grid: [C], block: [1]}", 1).find("t.yaml:6:") == 0);
  CHECK(launch_refusal("{grid: [A / (B - 1)], block: [1]}", 1) != "accepted");
}

TEST_CASE("manifest: what is refused, and where") {
  CHECK(refusal(manifest(kLaunch)) == "accepted");
  CHECK(refusal(manifest(kLaunch, "requirs: []\n")).find("t.yaml:7:1: ") == 0);
  CHECK(refusal(manifest(kLaunch, "requirs: []\n")).find("'requires'") != std::string::npos);
  CHECK(refusal(manifest("launch: {grid: [1], blok: [1]}\n")).find("'block'") != std::string::npos);
  CHECK(refusal(manifest("launch: {grid: [1]}\n")).find("block") != std::string::npos);
  CHECK(refusal(manifest("launch: {grid: [], block: [1]}\n")).find("one to three sizes") !=
        std::string::npos);
  CHECK(refusal(manifest("launch: {grid: [1, 1, 1, 1], block: [1]}\n")).find("one to three") !=
        std::string::npos);
  CHECK(refusal(manifest("launch: {grid: 1, block: [1]}\n")) != "accepted");
  CHECK(refusal(manifest("launch: {grid: [1 +], block: [1]}\n")).find("t.yaml:6:") == 0);
  CHECK(refusal(manifest("")).find("launch") != std::string::npos);
  CHECK(refusal(manifest(kLaunch, "derived: {A: B + 1}\n")).find("A is a parameter") !=
        std::string::npos);
  CHECK(refusal(manifest(kLaunch, "derived: {a-b: B + 1}\n")) != "accepted");
  CHECK(refusal(manifest(kLaunch, "requires: [{expr: A, becaus: x}]\n")).find("'because'") !=
        std::string::npos);
  CHECK(refusal("kernel: t\n").find("source") != std::string::npos);
  CHECK(refusal("[a, b]\n") != "accepted");
  CHECK(refusal("source: t.cu\nkernel: a b\nproblem: p\nparameters: []\n").find("t.yaml:2:9: ") ==
        0);
  CHECK(refusal("source: t.cu\nkernel: t\nproblem: p\nparameters: [A, A]\n" + kLaunch)
            .find("'A' is there twice") != std::string::npos);
}

TEST_CASE("manifest: a value that is defined may rest on parameters alone") {
  const std::string derived = "derived: {TWO: A + A, FOUR: TWO + TWO, SIZE: TWO * problem.n}\n";
  CHECK(parsed(manifest(kLaunch, derived + "defines: [FOUR]\n"))
            .render(ab(3, 1), {})
            .text.starts_with("#define A 3\n#define B 1\n#define FOUR 12\n\ncode\n"));
  CHECK(refusal(manifest(kLaunch, derived + "defines: [SIZE]\n")).find("rests on problem.n") !=
        std::string::npos);
  CHECK(refusal(manifest(kLaunch, derived + "defines: [FOURS]\n")).find("'FOUR'") !=
        std::string::npos);
  CHECK(refusal(manifest(kLaunch, derived + "defines: {RADIUS: 3}\n"))
            .find("a problem's `defines`") != std::string::npos);
  CHECK(refusal(manifest(kLaunch, "defines: [A]\n")).find("no derived value") != std::string::npos);
  // C has no value: not in the config.
  CHECK_THROWS_WITH_AS(
      parsed(manifest(kLaunch, "derived: {MORE: C + 1}\ndefines: [MORE]\n")).render(ab(1, 1), {}),
      doctest::Contains("MORE has no value"), UserError);
}

TEST_CASE("template: an argument may depend on the problem") {
  const Template some = parsed(
      "source: t.cu\nkernel: t\nproblem: p\nparameters: [A, B]\n"
      "arguments: [x, {name: y, when: problem.more}, z]\n" +
      kLaunch);
  CHECK(some.require_plan(ab(1, 1), {{"problem.more", true}}).arguments ==
        std::vector<std::string>{"x", "y", "z"});
  CHECK(some.require_plan(ab(1, 1), {{"problem.more", false}}).arguments ==
        std::vector<std::string>{"x", "z"});
  CHECK(refusal("source: t.cu\nkernel: t\nproblem: p\nparameters: [A]\n"
                "arguments: [x, {name: x, when: true}]\n" +
                kLaunch)
            .find("'x' is there twice") != std::string::npos);
}

TEST_CASE("template: a map's axes go by their letters, whole or in parts") {
  const std::string start = manifest(kLaunch, "arch: sm_90a\nmaps:\n");
  const Template mapped =
      parsed(start + "  x: {tensor: Q, box: [64, A, 1], axes: [D, H % B, H / B], swizzle: 128}\n");
  const std::vector<MapAxis> axes = {
      {.letter = 'D'}, {.letter = 'H', .modulo = 4}, {.letter = 'H', .modulo = 0, .divisor = 4}};
  CHECK(mapped.require_plan(ab(8, 4), {}).maps.front().axes == axes);
  CHECK(refusal(start + "  x: {tensor: Q, box: [64, A], axes: [D]}\n")
            .find("1 axes and a box of 2 sizes") != std::string::npos);
  CHECK(refusal(start + "  x: {tensor: Q, box: [64], axes: [D + 1]}\n")
            .find("a letter of the tensor's axes") != std::string::npos);
}

TEST_CASE("template: tensor maps follow the config, and are refused with their place") {
  const std::string start = manifest(kLaunch, "arch: sm_90a\nmaps:\n");
  const Template mapped = parsed(start + "  x: {tensor: X, box: [64, A * 2, 1], swizzle: 128}\n");
  CHECK(mapped.require_plan(ab(8, 1), {}).maps ==
        std::vector<MappedTensor>{
            {.argument = "x", .tensor = "X", .box = {64, 16, 1}, .swizzle_bytes = 128}});
  CHECK_THROWS_WITH_AS(static_cast<void>(mapped.require_plan(ab(129, 1), {})),
                       doctest::Contains("x's box is A * 2 = 258"), UserError);
  CHECK(parsed(manifest(kLaunch)).require_plan(ab(1, 1), {}).maps.empty());
  CHECK(refusal(start + "  y: {tensor: X, box: [64]}\n").find("t.yaml:9:") == 0);
  CHECK(refusal(start + "  x: {tensor: X, box: [64], swizzle: 96}\n").find("0, 32, 64 or 128") !=
        std::string::npos);
  CHECK(refusal(start + "  x: {tensor: X}\n").find("box") != std::string::npos);
}

TEST_CASE("template: what it is compiled for") {
  const Template any = parsed(manifest(kLaunch));
  CHECK(any.arch_on("sm_89") == "sm_89");
  const Template hopper = parsed(manifest(kLaunch, "arch: sm_90a\n"));
  CHECK(hopper.arch_on("sm_90") == "sm_90a");
  CHECK(!hopper.arch_on("sm_89"));
  CHECK(!hopper.arch_on("sm_100"));
  const Template ampere = parsed(manifest(kLaunch, "arch: sm_80\n"));
  CHECK(ampere.arch_on("sm_89") == "sm_89");
  CHECK(!ampere.arch_on("sm_75"));
  CHECK(refusal(manifest(kLaunch, "arch: hopper\n")).find("sm_90a") != std::string::npos);
}

TEST_CASE("manifest: a source outside of the templates' folder, or none, is refused") {
  CHECK_THROWS_AS(Template::load("none", "/no/such/manifest.yaml"), UserError);
  const fs::path here =
      fs::path(FA_TUNE_ROOT) / "tests/engine/kernel/template/data/kernel_templates/tiny";
  CHECK_THROWS_AS(Template::load("cuda", here / "twice.cu"), UserError);
}

TEST_CASE("a manifest may say which limits its genes move") {
  CHECK(parsed(manifest(kLaunch)).moves().empty());
  const Template made = parsed(
      manifest(kLaunch, "optional: {C: 1}\nmoves: {B: [latency, shared_memory], C: [tensor]}\n"));
  REQUIRE(made.moves().size() == 2);
  CHECK(made.moves()[0].gene == "B");
  CHECK(made.moves()[0].limits == std::vector{Bottleneck::latency, Bottleneck::shared_memory});
  CHECK(made.moves()[1].gene == "C");
  const std::pair<const char*, const char*> wrong[] = {
      {"moves: {D: [latency]}\n", "t.yaml:7:9: moves: 'D' is no parameter of this template"},
      {"moves: {A: [latencies]}\n", "'latencies' is no limit; expected one of issue, tensor"},
      {"moves: {A: latency}\n", "t.yaml:7:12: A: expected a list"},
      {"moves: [A]\n", "moves: expected"},
  };
  for (const auto& [moves, told] : wrong) {
    const std::string message = refusal(manifest(kLaunch, moves));
    CAPTURE(message);
    CHECK(message.find(told) != std::string::npos);
  }
}

TEST_CASE(
    "what a space leaves out has the value that the manifest says, unless a constant has one") {
  const Template made = parsed(manifest("launch: {grid: [D], block: [C]}\n",
                                        "optional: {C: 3}\nderived: {D: A * C}\ndefines: [D]\n"));
  const auto launched = [&](const Config& config, const Constants& constants) {
    const LaunchConfig launch = made.require_plan(config, constants).config;
    return std::pair(launch.grid.x, launch.block.x);
  };
  CHECK(launched(ab(2, 1), {}) == std::pair(6U, 3U));
  CHECK(launched(ab(2, 1), {{"C", std::int64_t{7}}}) == std::pair(14U, 7U));
  const Config given({{"A", std::int64_t{2}}, {"B", std::int64_t{1}}, {"C", std::int64_t{5}}});
  CHECK(launched(given, {{"C", std::int64_t{7}}}) == std::pair(10U, 5U));
  CHECK(made.render(ab(2, 1), {}).text.find("#define D 6\n") != std::string::npos);
  CHECK(made.render(given, {}).text.find("#define D 10\n") != std::string::npos);
}

TEST_CASE("the parameters that divide the work are those of grid, block, cluster and tiles") {
  const auto division = [](const std::string& launch, const std::string& more = "") {
    return parsed(manifest("launch: " + launch + "\n", more)).division_parameters();
  };
  using Names = std::vector<std::string>;
  CHECK(division("{grid: [4], block: [32], shared: A * 16}") == Names{});
  CHECK(division("{grid: [A], block: [32]}") == Names{"A"});
  CHECK(division("{grid: [4], block: [A, B]}") == Names{"A", "B"});
  CHECK(division("{grid: [D], block: [32]}", "derived: {D: B * 2}\n") == Names{"B"});
  CHECK(division("{grid: [C], block: [32]}", "optional: {C: 1}\n") == Names{"C"});
  CHECK(division("{grid: [4], block: [32], cluster: [B]}") == Names{"B"});
  // Which tiles are begun together is their order, and not what they are.
  CHECK(
      division("{grid: [4], block: [32], tiles: {sets: 1, together: A, of_a_set: 4, steps: B}}") ==
      Names{"B"});
  const auto block = [](const std::string& launch) {
    return parsed(manifest("launch: " + launch + "\n", "")).block_parameters();
  };
  CHECK(block("{grid: [A], block: [B, 32], cluster: [A]}") == Names{"B"});
  CHECK(block("{grid: [A, B], block: [32]}") == Names{});
}

TEST_CASE("every limit has a name, and is found by it") {
  for (std::size_t i = 0; i <= static_cast<std::size_t>(kLastLimit); ++i) {
    const auto limit = static_cast<Bottleneck>(i);
    CHECK(limit_of(to_text(limit)) == limit);
    CHECK(!words(limit).empty());
  }
  CHECK(!limit_of("nothing"));
}

TEST_CASE("unroll factors: a template's source has those of its config") {
  const Template unrolled =
      Template::parse("t",
                      "source: t.cu\nkernel: t\nproblem: p\nparameters: [A]\narguments: [x]\n"
                      "launch: {grid: [1], block: [1]}\n",
                      "#pragma unroll A\n#pragma unroll WIDTH\n", "t.yaml");
  CHECK(unrolled.render(Config({{"A", std::int64_t{3}}}), {{"WIDTH", "4"}}).text ==
        "#define WIDTH 4\n#define A 3\n\n#pragma unroll 3\n#pragma unroll 4\n");
}

}  // namespace fa_tune::test
