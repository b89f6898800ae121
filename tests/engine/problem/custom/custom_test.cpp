// A kernel of a user's own, from a space that describes its problem: searched, gated, exported.

#include <algorithm>
#include <mutex>
#include <thread>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/device/local/open.hpp"
#include "engine/problem/custom/spec.hpp"
#include "engine/report/export.hpp"
#include "engine/space_file/space_settings.hpp"
#include "engine/tuner/evolve.hpp"
#include "engine/tuner/task/exported_kernel.hpp"
#include "engine/tuner/task/make_problem.hpp"
#include "engine/tuner/task/variant.hpp"
#include "engine/tuner/trial/compile_stage.hpp"
#include "engine/util/error.hpp"
#include "engine/util/random.hpp"
#include "tests/engine/problem/custom/custom_space.hpp"
#include "tests/engine/problem/custom/one_trial.hpp"
#include "tests/engine/tuner/listeners.hpp"
#include "tests/reference_on_emulator.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;
using namespace fa_tune::device;
using namespace fa_tune::gate;
using namespace fa_tune::kernel;
using namespace fa_tune::problem;
using namespace fa_tune::report;
using namespace fa_tune::space;
using namespace fa_tune::tuner;

namespace {

// Keeps what it is asked for.
class AskedCompiler final : public Compiler {
 public:
  std::string version() const override { return "asked 1"; }
  CompileOutcome compile(const CompileRequest& request) override {
    const std::lock_guard lock(mutex_);
    asked_.push_back(request.source.text);
    return std::unexpected(CompileFailure{.message = "asked alone", .log = ""});
  }
  std::vector<std::string> asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> asked_;
};

}  // namespace

TEST_CASE(
    "custom: where sizes are compiled in, all of a trial's binaries are begun with the first") {
  const TuningTask task = test::task("softmax.yaml");
  const auto device = open_device("emulator:h100", task.target, test::root());
  AskedCompiler compiler;
  CompilePool pool(compiler, 2);
  CompileStage compile_stage(task, *device, pool, cases_of_trials(*task.problem, *device, {1, 2}));
  const auto variant = compile_stage.prepare(task.space.at(0));
  while (!variant->ready()) std::this_thread::yield();
  const auto asked = compiler.asked();
  CHECK(asked.size() == 4);
  for (const char* columns : {"1024", "1", "100", "1023"}) {
    const std::string define = "#define COLUMNS " + std::string(columns) + "\n";
    CHECK(std::ranges::count_if(
              asked, [&](const std::string& text) { return test::has(text, define); }) == 1);
  }
}

TEST_CASE("custom: a user's kernel is searched to the end, and is what it was without its files") {
  const test::CustomSpace place;
  const TuningTask task = place.task();
  const auto device = open_device("emulator:l4", task.target, test::root());
  const test::ScratchFolder folder;
  Store store(folder / "fa.db", Store::Mode::write);
  EvolveOptions options;
  options.trials = 4;
  test::QuietListener quiet;
  const std::atomic<bool> stop{false};
  const EvolveResult result = evolve(task, *device, cached_nvrtc(), store, options, quiet, stop);
  CHECK(result.counts.passed == 4);
  CHECK(result.counts.failed == 0);

  // As `verify --trial` and `bench` open it, where the files are no more.
  std::filesystem::remove(place.folder() / "mine.cu");
  std::filesystem::remove(place.folder() / "plain.cu");
  const auto run = store.run(result.run);
  const TuningTask again = test::opened(parse_space_file(run->space_text, "stored"));
  test::Bench bench(again, "emulator:l4");
  CHECK(bench.gate(again.templates[0], again.space.at(0), "quick").passed());
}

TEST_CASE("custom: trials of an emulator see the timed size, or say that they did not") {
  const test::CustomSpace place;
  test::write_text(
      place.folder() / "mine.cu",
      test::replace(test::kCustomMine, {{"step(x[i], y[i], a)",
                                         "n >= 5000 && x[i] != 0 ? step(x[i], y[i], a) * T(0.999) "
                                         ": step(x[i], y[i], a)"}}));
  const auto trials = [&](const test::Replacements& changes) {
    const test::OneTrial trial(place.task(changes));
    return trial.store.trials(trial.run).at(0);
  };
  const TrialRow small = trials({});
  CHECK(small.outcome == Outcome::failed);
  CHECK_MESSAGE(test::has(small.message, "n=5000"), small.message);
  const TrialRow large = trials({{"{n: 5000}", "{n: 3000000}"}});
  CHECK(large.outcome == Outcome::passed);
  CHECK_MESSAGE(test::has(large.message, "not gated at the timed size"), large.message);
}

TEST_CASE("custom: a truth is not asked for before somebody says where the reference runs") {
  const test::CustomSpace place;
  const TuningTask task = open_task(place.file(), test::root());
  TruthCache truth(*task.problem);
  const GateCase first = gate_cases(task.problem->suites().front(), 1).front();
  CHECK(test::has(test::message_of<std::logic_error>([&] { truth.get(first); }),
                  "nobody said where its reference kernel runs"));
}

TEST_CASE("custom: a kernel may read no buffer at all") {
  const test::CustomSpace place;
  const test::Replacements generates = {{"    - {name: x, type: f32, shape: [n]}\n", ""},
                                        {"role: inout", "role: output"}};
  const char* const kPlain = R"(
__global__ void plain(float* y, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * i;
}
)";
  const std::string mine = R"(
template <int per, typename T>
__global__ void scale_add(T* y, T a, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = a * i;
}
)";
  test::write_text(place.folder() / "plain.cu", kPlain);
  test::write_text(place.folder() / "mine.cu", mine);
  const Verdict right = place.gate(generates);
  CHECK_MESSAGE(right.passed(), right.message);
  CHECK(test::has(fmt::format("{}", fmt::join(place.task(generates).problem->notes(), "; ")),
                  "reads no buffer"));
  test::write_text(place.folder() / "mine.cu", test::replace(mine, {{"a * i", "a * (i + 1)"}}));
  CHECK(place.gate(generates).finding == Finding::kWrong);
}

TEST_CASE("custom: a space that cannot be used says so, with the place") {
  const test::CustomSpace place;
  const auto says = [&](const test::Replacements& changes, const char* words) {
    const std::string said = place.refused(changes);
    CHECK_MESSAGE(test::has(said, words), said);
  };
  says({{"{name: n, type: i32, value: n}", "{name: n, type: i32, value: m}"}}, "mine.yaml:10:");
  says({{"type: f32, shape: [n]}\n    - {name: y", "type: f31, shape: [n]}\n    - {name: y"}},
       "mine.yaml:7:23: type: expected one of f16, bf16, f32, f64, e4m3, e5m2, i8, u8, i16, u16, "
       "i32, "
       "u32, i64, u64, bool, complex64, complex128, one of these with x2, x3 or x4");
  says({{"role: inout", "role: input"}}, "at least one buffer that is a result");
  says({{"{n: 777}", "{m: 777}"}}, "the same names as in the first");
  says({{"{n: 777}", "{n: 0}"}}, "mine.yaml:5:34");
  says({{"{n: 777}", "{n: 99000000000}"}}, "larger than 8 GiB");
  says({{"shape: [n]}\n    - {name: y", "shape: [n - 1]}\n    - {name: y"}}, "must be above 0");
  says({{"type: i32, value: n}", "type: i32, shape: [n]}"}}, "needs a `fill`");
  says({{"source: plain.cu", "source: no.cu"}}, "mine.yaml:12:13: there is no file");
  says({{"source: plain.cu", "source: /etc/passwd"}}, "within the space's folder");
  says({{"source: plain.cu", "source: ../plain.cu"}}, "mine.yaml:12:13");
  says({{"kernel: plain\n", "kernel: plain); system(\n"}}, "the name of a function");
  says({{"kernel: plain\n", "kernel: plain\n    options: [--include-path=/etc]\n"}},
       "options: expected one of --use_fast_math");
  says({{"    kernel: plain\n", "    kernle: plain\n"}}, "did you mean 'kernel'");
  says({{"    launch: {grid: [\"ceil_div(problem.n, BLOCK",
         "    lunch: {grid: [\"ceil_div(problem.n, BLOCK"}},
       "mine.yaml:19:");
  says({{"    launch: {grid: [\"ceil_div(problem.n, BLOCK",
         "    arguments: [x, y, z]\n    launch: {grid: [\"ceil_div(problem.n, BLOCK"}},
       "mine.yaml:19:23: arguments: 'z' is neither");
  says({{"    launch: {grid: [\"ceil_div(problem.n, BLOCK",
         "    arguments: [x_map, y, a, n]\n    maps: {x_map: {tensor: z, box: [64]}}\n"
         "    launch: {grid: [\"ceil_div(problem.n, BLOCK"}},
       "mine.yaml:20:28: tensor: 'z' is no argument of the problem, which has x, y, a, n");
  // A link out of the folder is not followed, and what lies beside it is not included.
  const test::ScratchFolder elsewhere;
  test::write_text(elsewhere / "secret.cu", "int secret;");
  std::filesystem::create_symlink(elsewhere / "secret.cu", place.folder() / "link.cu");
  says({{"source: plain.cu", "source: link.cu"}}, "lies outside");
  test::write_text(place.folder() / "reads.cu", "#include \"" + (elsewhere / "secret.cu").string() +
                                                    "\"\n" + test::kCustomPlain);
  says({{"source: plain.cu", "source: reads.cu"}}, "is absolute");
  // Nor by any other way of asking the compiler to read it.
  const std::string secret = (elsewhere / "secret.cu").string();
  for (const std::string& line :
       {"#include <" + secret + ">", "# include/**/<" + secret + ">",
        "%:include \"" + secret + "\"", "#inc\\\nlude \"" + secret + "\"",
        "#/*\n*/include \"" + secret + "\"", std::string("#include <../secret.cu>")}) {
    test::write_text(place.folder() / "reads.cu", line + "\n" + test::kCustomPlain);
    says({{"source: plain.cu", "source: reads.cu"}}, "none of its own");
  }
  for (const std::string line : {"#include X", "#/* */include X", "#/*\n*/include_next X"}) {
    test::write_text(place.folder() / "reads.cu",
                     "#define X \"" + secret + "\"\n" + line + "\n" + test::kCustomPlain);
    says({{"source: plain.cu", "source: reads.cu"}}, "what a macro says");
  }
  test::write_text(place.folder() / "reads.cu",
                   "// to include x\n#include <cuda_fp16.h>\n" + std::string(test::kCustomPlain));
  CHECK(place.refused({{"source: plain.cu", "source: reads.cu"}}) == "nothing was thrown");
}

TEST_CASE("custom: a tolerance is set, in any form of the file") {
  const test::CustomSpace place;
  const auto tolerance = [&](const test::Replacements& changes,
                             const std::vector<std::string>& settings) {
    const SpaceFile file = with_settings(place.file(changes), settings);
    const auto found = read_custom(YamlNode::parse(file.text, "set.yaml")).tolerance;
    return found ? fmt::format("{} {}", found->absolute, found->relative) : "none";
  };
  CHECK(tolerance({}, {}) == "none");
  CHECK(tolerance({}, {"tolerance.relative=1e-5"}) == "0 1e-05");
  CHECK(tolerance({}, {"tolerance.relative=1e-5", "tolerance.absolute=0.5", "sizes.n=60",
                       "tolerance.relative=2"}) == "0.5 2");
  const test::Replacements block = {
      {"  arguments:", "  tolerance:\n    absolute: 3\n  arguments:"}};
  CHECK(tolerance(block, {"tolerance.relative=0.25"}) == "3 0.25");
  CHECK(tolerance(block, {"tolerance.absolute=0.25"}) == "0.25 0");
  CHECK_THROWS_AS(tolerance({}, {"tolerance.relative=-1"}), UserError);
  CHECK_THROWS_AS(tolerance({}, {"tolerance.relative=much"}), UserError);
  CHECK_THROWS_AS(tolerance({}, {"tolerance.other=1"}), UserError);
}

TEST_CASE("custom: sizes are set, drawn and told to the kernels") {
  const test::CustomSpace place;
  const SpaceFile larger = with_settings(place.file(), {"sizes.n=6000"});
  CHECK(test::opened(larger).problem->describe({{"n", std::int64_t{6000}}}) == "n=6000");
  CHECK(integer(test::opened(larger).problem->shape(), "n") == 6000);
  CHECK_THROWS_AS(with_settings(place.file(), {"sizes.m=6000"}), UserError);
  const TuningTask drawn = place.task(
      {{"  arguments:", "  hidden: {n: [3, 90]}\n  defines: {HALF: n / 2}\n  arguments:"}});
  const auto shapes = drawn.problem->hidden_shapes(7);
  REQUIRE(shapes.size() == 3);
  for (const Constants& shape : shapes) {
    CHECK(integer(shape, "n") >= 3);
    CHECK(integer(shape, "n") <= 90);
  }
  CHECK(shapes != drawn.problem->hidden_shapes(8));
  CHECK(drawn.problem->defines(shapes[0])[0].first == "HALF");
  // What a kernel must do is known before any has run.
  CHECK(drawn.problem->bytes({{"n", std::int64_t{100}}}) == 400);
}

TEST_CASE("custom: an exported winner needs nothing of its space, and is gated again") {
  const test::CustomSpace place;
  const TuningTask task =
      place.task({{"kernel: scale_add<PER, float>",
                   "kernel: scale_add<PER, float>\n    options: [--fmad=false]"}});
  const Config config = task.space.at(3);
  const Template& from = task.templates[0];
  const Constants& shape = task.problem->shape();
  const Source source = from.render(config, task.problem->defines(shape));
  ExportFacts facts;
  facts.arch = task.target.arch;
  facts.target = "l4";
  facts.template_name = from.name();
  facts.manifest_text = from.manifest_text();
  facts.kernel = source.kernel;
  facts.config = config;
  facts.problem = task.problem->kind();
  facts.settings = task.file.problem_settings;
  facts.shape = shape;
  facts.launch = from.require_plan(config, task.scope(shape)).config;
  facts.body = source.text;
  const std::string text = export_text(facts);
  std::filesystem::remove_all(place.folder().path());

  CHECK(test::has(text, "Build: nvcc -arch=sm_89 --fmad=false -c FILE.cu"));
  const Exported read = parse_exported(text, "winner.cu");
  CHECK(read.kernel == "scale_add<2, float>");
  const auto problem = make_problem(read.problem, read.settings, "winner.cu: ");
  reference_on_emulator(*problem, task.target);
  const auto device = open_device("emulator:l4", task.target, test::root());
  ExportedKernel kernel(read, *problem, task.target, cached_nvrtc(), *device);
  TruthCache truth(*problem);
  const Verdict verdict = Gate(*device, truth)
                              .check([&](const Constants& each) { return kernel.bind(each); },
                                     gate_cases(problem->suites().front(), 7));
  CHECK_MESSAGE(verdict.passed(), verdict.finding, ": ", verdict.message);
}

TEST_CASE("custom: what is constant is in the kernel's variable, for each launch") {
  const auto finding = [](const std::string& use, const std::string& changed_use) {
    const test::CustomSpace place;
    test::write_text(
        place.folder() / "mine.cu",
        test::replace(test::kCustomMine,
                      {{"template <int per", "__constant__ float w[20];\ntemplate <int per"},
                       {"step(x[i], y[i], a)", use}}));
    test::write_text(place.folder() / "plain.cu",
                     "__constant__ float w[20];\n" +
                         test::replace(test::kCustomPlain, {{"+ y[i]", changed_use}}));
    return place
        .gate({{"    - {name: n,",
                "    - {name: w, type: f32, shape: [20], constant: true}\n    - {name: n,"}})
        .finding;
  };
  CHECK(finding("step(x[i], y[i], a) + w[i % 20]", "+ y[i] + w[i % 20]") == Finding::kPassed);
  CHECK(finding("step(x[i], y[i], a) + w[i % 19]", "+ y[i] + w[i % 20]") == Finding::kWrong);
  CHECK(finding("step(x[i], y[i], a)", "+ y[i] + w[i % 20]") == Finding::kWrong);
  CHECK(test::has(
      test::CustomSpace().refused({{"    - {name: n,",
                                    "    - {name: w, type: f32, shape: [20000], constant: true}\n"
                                    "    - {name: n,"}}),
      "constant memory has 65536"));
}

TEST_CASE("custom: texts that are nearly such a space give a problem or an error") {
  const std::string good = test::CustomSpace().file().text;
  Random random(5);
  int built = 0;
  for (int i = 0; i < 1500; ++i) {
    std::string text = good;
    for (std::uint64_t n = 1 + random.below(3); n > 0; --n) {
      const std::size_t at = random.below(text.size());
      const std::size_t from = random.below(text.size()), length = random.below(12);
      if (random.below(2) == 0)
        text.erase(at, length);
      else
        text.insert(at, text.substr(from, length));
    }
    try {
      const SpaceFile file = parse_space_file(text, "mutated.yaml");
      const auto problem = make_problem(file.problem_kind, file.problem_settings, "mutated.yaml: ");
      problem->argument_notes(problem->shape());
      ++built;
    } catch (const UserError& error) {
      CHECK_FALSE(std::string(error.what()).empty());
    }
  }
  CHECK(built > 50);
  CHECK(built < 1500);
}

TEST_CASE("a timed size of gigabytes meets few kinds of input where smaller ones meet all") {
  const test::CustomSpace place;
  const auto kinds = [&](const std::string& sizes) {
    const TuningTask task = place.task({{"{n: 5000}, {n: 1}, {n: 777}", sizes}});
    const auto mission = find_suite(*task.problem, SuiteName::mission);
    const std::size_t count = mission->kinds.size();
    CHECK(task.problem->notes().empty() == (count == 6));
    CHECK(find_suite(*task.problem, SuiteName::quick)->kinds.size() > 6);
    return count;
  };
  CHECK(kinds("{n: 134217728}, {n: 1}, {n: 777}") == 6);
  CHECK(kinds("{n: 134217729}, {n: 1}, {n: 777}") == 2);
  CHECK(kinds("{n: 134217729}") == 6);
}

}  // namespace fa_tune::test
