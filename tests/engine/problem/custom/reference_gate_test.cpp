// A reference passes the gate that it is the measure of, for every kind of input and seed.
// FA_TUNE_SEEDS=200 for more seeds than one.

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/core.h>

#include "engine/device/local/emulated.hpp"
#include "engine/gate/reference_run.hpp"
#include "engine/kernel/compile/compiler.hpp"
#include "engine/space_file/space_settings.hpp"
#include "engine/tuner/task/variant.hpp"
#include "engine/util/random.hpp"
#include "tests/cached_nvrtc.hpp"
#include "tests/engine/problem/custom/custom_space.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::gate;
using namespace fa_tune::kernel;
using namespace fa_tune::problem;
using namespace fa_tune::space;
using namespace fa_tune::tuner;

namespace {

// Keeps how each shape's reference is called.
class Noted final : public ReferenceRunner {
 public:
  explicit Noted(std::shared_ptr<ReferenceRunner> inner) : inner_(std::move(inner)) {}
  void run(const ReferenceCall& call, const Instance& instance, const TakeResult& take) override {
    if (!call.checked) calls.insert_or_assign(to_json(instance.shape), call);
    inner_->run(call, instance, take);
  }

  std::map<std::string, ReferenceCall> calls;

 private:
  std::shared_ptr<ReferenceRunner> inner_;
};

struct GatedCases {
  int cases = 0, without_truth = 0;
};

// The reference of a task as the kernel under test.
GatedCases gate_reference(const TuningTask& task) {
  const auto compile = [](const CompileRequest& request) {
    return test::cached_nvrtc().compile(request);
  };
  const auto noted = std::make_shared<Noted>(
      make_reference_runner([&] { return open_emulator(task.target, 1); }, compile));
  Problem& problem = *task.problem;
  problem.use_reference(noted);
  const auto device = open_emulator(task.target, 1);
  std::map<std::string, KernelHandle> loaded;
  const auto bind = [&](const Constants& shape) -> std::expected<BoundKernel, std::string> {
    const ReferenceCall& call = noted->calls.at(to_json(shape));
    if (!loaded.contains(call.source.hash)) {
      const auto compiled =
          compile({call.source, device->info().arch, device->info().accepts, call.options});
      if (!compiled) return std::unexpected(compiled.error().message);
      loaded[call.source.hash] = device->load(compiled->image).value();
    }
    return BoundKernel{loaded[call.source.hash], call.launch, call.arguments};
  };
  GatedCases count;
  for (int seed = 1; seed <= test::seeds_to_try(1); ++seed) {
    const auto of = static_cast<std::uint64_t>(seed);
    auto cases = gate_cases(find_suite(problem, SuiteName::quick).value(), of, Crossing::full);
    for (const GateCase& each : hidden_cases(problem, of)) cases.push_back(each);
    TruthCache truth(problem);
    for (GateCase& each : cases) {
      // Numbers alone matter here, and of each case its own.
      each.sanitized = false;
      each.changed_input.reset();
      if (!truth.get(each)->lacks.empty()) {
        CHECK(may_lack_truth(each.inputs));
        ++count.without_truth;
        continue;
      }
      ++count.cases;
      const Verdict verdict = Gate(*device, truth).check(bind, {each});
      CHECK_MESSAGE(verdict.passed(), task.problem->describe(each.shape), ": ", verdict.finding,
                    ": ", verdict.message, " (", verdict.where, ")");
    }
  }
  return count;
}

}  // namespace

TEST_CASE("shipped references pass their own gate, for every kind of input") {
  std::vector<const char*> names = {"softmax",     "rmsnorm", "reduction", "gemm",
                                    "convolution", "nbody",   "scan",      "histogram"};
  if (thorough()) names.push_back("gemm_split_k");  // it has gemm's reference
  for (const char* name : names) {
    SUBCASE(name) {
      const GatedCases count = gate_reference(test::opened(load_space_file(name, test::root())));
      MESSAGE(fmt::format("{}: {} cases, {} more without a truth", name, count.cases,
                          count.without_truth));
      CHECK(count.cases > 0);
    }
  }
}

TEST_CASE("a reference of every sort passes its own gate, for every kind of input") {
  const char* const kBodies[] = {
      "a * x[i] + 1",  "x[i] - x[i]", "expf(4 * x[i])",      "logf(fabsf(x[i]))",
      "1 / x[i]",      "sinf(x[i])",  "x[i] > 0 ? x[i] : 0", "tanhf(x[i]) * a",
      "x[i] * 1e-30f", "erff(x[i])",  "sqrtf(fabsf(x[i]))",  "(float)(int)(x[i] * 8)",
      "x[i] + 1e6f",   "cbrtf(x[i])", "expf(x[i])"};
  for (const char* body : kBodies) {
    const test::CustomSpace place;
    test::write_text(place.folder() / "plain.cu",
                     test::replace(test::kCustomPlain, {{"a * x[i] + y[i]", body}}));
    const GatedCases count =
        gate_reference(place.task({{"role: inout", "role: output"}, {"{n: 5000}", "{n: 50}"}}));
    CHECK_MESSAGE(count.cases > 0, body);
  }
}

TEST_CASE("the first preset of every attention space passes its gate, for every kind of input") {
  for (const char* name : {"l4", "a100", "h100", "h100_gqa", "h100_fp8", "h100_mma", "ladder"}) {
    const TuningTask task = test::task(fmt::format("{}.yaml", name));
    const Config& config = task.space.presets().front().config;
    const char* const device = std::getenv("FA_TUNE_TEST_DEVICE");
    test::Bench bench(task, device != nullptr ? device : "emulator:" + task.target.name);
    const auto variant = make_variant(task, config, bench.pool(), bench.device());
    int cases = 0;
    for (int seed = 1; seed <= test::seeds_to_try(1); ++seed) {
      const auto of = static_cast<std::uint64_t>(seed);
      auto asked =
          gate_cases(find_suite(*task.problem, SuiteName::quick).value(), of, Crossing::full);
      for (const GateCase& each : hidden_cases(*task.problem, of)) asked.push_back(each);
      TruthCache truth(*task.problem);
      const Verdict verdict = Gate(bench.device(), truth).check(variant->binder(), asked);
      CHECK_MESSAGE(verdict.passed(), name, ", seed ", seed, ": ", verdict.finding, ": ",
                    verdict.message, " (", verdict.where, ")");
      cases += verdict.cases;
    }
    MESSAGE(fmt::format("{}: {} cases", name, cases));
    CHECK(cases > 0);
  }
}

}  // namespace fa_tune::test
