// Bounds that are measured hold statistically: correct kernels of several kinds pass for each seed,
// and the same with a mistake do not. FA_TUNE_SEEDS=100 for more seeds than a few.

#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/core.h>

#include "engine/device/local/open.hpp"
#include "engine/tuner/task/variant.hpp"
#include "engine/util/random.hpp"
#include "tests/cached_nvrtc.hpp"
#include "tests/engine/problem/custom/custom_space.hpp"
#include "tests/engine/problem/custom/measured_bounds_fields.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::gate;
using namespace fa_tune::kernel;
using namespace fa_tune::space;
using namespace fa_tune::tuner;

namespace {

constexpr int kUsualSeeds = 2;

// A space with a template for each way.
class Place {
 public:
  explicit Place(const Field& field) {
    test::write_text(
        folder_ / "plain.cu",
        "__global__ void plain(" + field.parameters +
            ") {\n  int row = blockIdx.x * blockDim.x + threadIdx.x;\n" +
            (test::has(field.parameters, "rows") ? "  if (row >= rows) return;\n" : "") +
            field.plain + "}\n");
    std::string space =
        "space: ways\ntarget: h100\nproblem:\n  kind: custom\n  sizes: " + field.sizes +
        "\n  arguments:" + field.arguments +
        "\n  reference:\n    source: plain.cu\n    kernel: plain\n"
        "    launch: {grid: [\"ceil_div(" +
        field.rows + ", 64)\"], block: [64]}\ntemplates:\n";
    for (std::size_t i = 0; i < field.ways.size(); ++i) {
      const Way& way = field.ways[i];
      const std::string file = fmt::format("way{}.cu", i);
      test::write_text(folder_ / file, kPrelude + ("__global__ void way(" + field.parameters) +
                                           ") {\n" + way.body + "}\n");
      space += fmt::format(
          "  w{}:\n    source: {}\n    kernel: way\n{}"
          "    launch: {{grid: [\"{}\"], block: [BLOCK]}}\n",
          i, file, way.fast_math ? "    options: [--use_fast_math]\n" : "", field.grid);
    }
    space += "parameters:\n  BLOCK: [64]\n";
    test::write_text(folder_ / "ways.yaml", space);
  }
  TuningTask task() const {
    return test::opened(load_space_file((folder_ / "ways.yaml").string(), test::root()));
  }

 private:
  test::ScratchFolder folder_;
};

struct Count {
  int refused = 0;
  std::string last;  // why
};

std::vector<Count> tries(const Field& field, int seeds) {
  const Place place(field);
  const TuningTask task = place.task();
  const auto device = open_device("emulator:h100", task.target, test::root());
  CompilePool pool(test::cached_nvrtc(), 2);
  std::vector<std::unique_ptr<Variant>> variants;
  for (std::size_t i = 0; i < field.ways.size(); ++i)
    variants.push_back(std::make_unique<Variant>(
        task.templates[i], *task.problem, [&](const Constants& shape) { return task.scope(shape); },
        Config({{"template", fmt::format("w{}", i)}, {"BLOCK", std::int64_t{64}}}), pool, *device));
  std::vector<Count> counts(field.ways.size());
  for (int seed = 1; seed <= seeds; ++seed) {
    TruthCache truth(*task.problem);
    auto cases = gate_cases(task.problem->suites().front(),
                            derive_seed(static_cast<std::uint64_t>(seed), field.name));
    // Numbers alone matter here.
    for (GateCase& each : cases) each.sanitized = false, each.changed_input.reset();
    for (std::size_t i = 0; i < variants.size(); ++i) {
      const Verdict verdict = Gate(*device, truth).check(variants[i]->binder(), cases);
      if (verdict.passed()) continue;
      ++counts[i].refused;
      counts[i].last = verdict.finding + ": " + verdict.message + " (" + verdict.where + ")";
      CHECK_MESSAGE(verdict.finding != Finding::kNotBound, verdict.message);
    }
  }
  return counts;
}

}  // namespace

TEST_CASE("measured bounds: correct kernels pass with every seed, wrong ones with hardly any") {
  const int seeds = test::seeds_to_try(kUsualSeeds);
  // One at a time: -sc="GELU".
  for (const Field& field : fields()) SUBCASE(field.name.c_str()) {
      const auto counts = tries(field, seeds);
      for (std::size_t i = 0; i < counts.size(); ++i) {
        const Way& way = field.ways[i];
        const std::string told = fmt::format("{}, {} '{}': refused {} of {}; {}", field.name,
                                             way.correct ? "correct" : "wrong in", way.name,
                                             counts[i].refused, seeds, counts[i].last);
        MESSAGE(told);
        if (way.correct)
          CHECK_MESSAGE(counts[i].refused == 0, told);
        else
          CHECK_MESSAGE(counts[i].refused * 100 >= seeds * 99, told);
      }
    }
}

}  // namespace fa_tune::test
