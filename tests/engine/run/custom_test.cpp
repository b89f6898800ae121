// A kernel of a user's own, from a space that describes its problem: searched, gated, exported.

#include <fstream>

#include <doctest/doctest.h>

#include "engine/base/error.hpp"
#include "engine/base/npy.hpp"
#include "engine/base/random.hpp"
#include "engine/device/open.hpp"
#include "engine/report/export.hpp"
#include "engine/run/evolve.hpp"
#include "engine/run/exported_kernel.hpp"
#include "engine/run/variant.hpp"
#include "engine/space/space_settings.hpp"
#include "tests/engine/run/fixture.hpp"
#include "tests/engine/run/quiet_listener.hpp"

using namespace fa_tune;

namespace {

const char* const kSpace = R"yaml(space: scale_add
target: l4
problem:
  kind: custom
  sizes: [{n: 5000}, {n: 1}, {n: 777}]
  arguments:
    - {name: x, type: f32, shape: [n]}
    - {name: y, type: f32, shape: [n], role: inout}
    - {name: a, type: f32, value: 2.5}
    - {name: n, type: i32, value: n}
  reference:
    source: plain.cu
    kernel: plain
    launch: {grid: ["ceil_div(problem.n, 256)"], block: [256]}
templates:
  mine:
    source: mine.cu
    kernel: scale_add<PER, float>
    launch: {grid: ["ceil_div(problem.n, BLOCK * PER)"], block: [BLOCK]}
parameters:
  BLOCK: [64, 128]
  PER: [1, 2]
)yaml";

const char* const kPlain = R"(
__global__ void plain(const float* x, float* y, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
)";

const char* const kMine = R"(
#include "step.cuh"
template <int per, typename T>
__global__ void scale_add(const T* x, T* y, T a, int n) {
  for (int k = 0; k < per; ++k) {
    int i = (blockIdx.x * per + k) * BLOCK + threadIdx.x;
    if (i < n) y[i] = step(x[i], y[i], a);
  }
}
)";

const char* const kStep =
    "template <typename T> __device__ T step(T x, T y, T a) { return a * x + y; }\n";

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

// The space in a folder of its own, with what is to be changed in its texts.
class Fixture {
 public:
  Fixture() {
    write(folder_ / "plain.cu", kPlain);
    write(folder_ / "mine.cu", kMine);
    write(folder_ / "step.cuh", kStep);
  }

  const test::ScratchFolder& folder() const { return folder_; }
  SpaceFile file(const test::Replacements& changes = {}) const {
    write(folder_ / "mine.yaml", test::replace(kSpace, changes));
    return load_space_file((folder_ / "mine.yaml").string(), test::root());
  }
  Project project(const test::Replacements& changes = {}) const {
    return open_project(file(changes), test::root());
  }
  // What a gate says of the first config.
  Verdict gate(const test::Replacements& space = {}, const std::string& suite = "quick") const {
    const Project opened = project(space);
    test::Bench bench(opened, test::device_under_test());
    const Config config(
        {{"template", std::string("mine")}, {"BLOCK", std::int64_t{64}}, {"PER", std::int64_t{2}}});
    return bench.gate(opened.templates[0], config, suite);
  }
  // The same with a changed text of the kernel, or of the reference.
  Verdict gate_kernel(const std::string& from, const std::string& to) const {
    write(folder_ / "mine.cu", test::replace(kMine, {{from, to}}));
    return gate();
  }
  std::string refused_reference(const std::string& text,
                                const test::Replacements& space = {}) const {
    write(folder_ / "plain.cu", text);
    return test::message_of<UserError>([&] { gate(space); });
  }
  std::string refused(const test::Replacements& changes) const {
    return test::message_of<UserError>([&] { project(changes); });
  }

 private:
  test::ScratchFolder folder_;
};

}  // namespace

TEST_CASE("custom: a user's kernel is searched to the end, and is what it was without its files") {
  const Fixture place;
  const Project project = place.project();
  const auto device = open_device("emulator:l4", project.target, test::root());
  const auto compiler = open_nvrtc();
  const test::ScratchFolder folder;
  Store store(folder / "fa.db", Store::Mode::write);
  EvolveOptions options;
  options.trials = 4;
  test::QuietListener quiet;
  const std::atomic<bool> stop{false};
  const EvolveResult result = evolve(project, *device, *compiler, store, options, quiet, stop);
  CHECK(result.tally.right == 4);
  CHECK(result.tally.refused == 0);

  // As `verify --trial` and `bench` open it, where the files are no more.
  std::filesystem::remove(place.folder() / "mine.cu");
  std::filesystem::remove(place.folder() / "plain.cu");
  const auto run = store.run(result.run);
  const Project again = open_project(parse_space_file(run->space_text, "stored"), test::root());
  test::Bench bench(again, "emulator:l4");
  CHECK(bench.gate(again.templates[0], again.space.at(0), "quick").right());
}

TEST_CASE("custom: a space that cannot be used says so, with the place") {
  const Fixture place;
  const auto says = [&](const test::Replacements& changes, const char* words) {
    const std::string said = place.refused(changes);
    CHECK_MESSAGE(test::has(said, words), said);
  };
  says({{"{name: n, type: i32, value: n}", "{name: n, type: i32, value: m}"}}, "mine.yaml:10:");
  says({{"type: f32, shape: [n]}\n    - {name: y", "type: f31, shape: [n]}\n    - {name: y"}},
       "mine.yaml:7:23: type: expected one of f16, bf16, f32, f64, i32, found 'f31'");
  says({{"role: inout", "role: input"}},
       "at least one buffer that is given and one that is a result");
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
  // A link out of the folder is not followed, and what lies beside it is not included.
  const test::ScratchFolder elsewhere;
  write(elsewhere / "secret.cu", "int secret;");
  std::filesystem::create_symlink(elsewhere / "secret.cu", place.folder() / "link.cu");
  says({{"source: plain.cu", "source: link.cu"}}, "lies outside");
  write(place.folder() / "reads.cu",
        "#include \"" + (elsewhere / "secret.cu").string() + "\"\n" + kPlain);
  says({{"source: plain.cu", "source: reads.cu"}}, "is absolute");
  // Nor by any other way of asking the compiler to read it.
  const std::string secret = (elsewhere / "secret.cu").string();
  for (const std::string& line :
       {"#include <" + secret + ">", "# include/**/<" + secret + ">",
        "%:include \"" + secret + "\"", "#inc\\\nlude \"" + secret + "\"",
        "#/*\n*/include \"" + secret + "\"", std::string("#include <../secret.cu>")}) {
    write(place.folder() / "reads.cu", line + "\n" + kPlain);
    says({{"source: plain.cu", "source: reads.cu"}}, "none of its own");
  }
  for (const std::string line : {"#include X", "#/* */include X", "#/*\n*/include_next X"}) {
    write(place.folder() / "reads.cu", "#define X \"" + secret + "\"\n" + line + "\n" + kPlain);
    says({{"source: plain.cu", "source: reads.cu"}}, "what a macro says");
  }
  write(place.folder() / "reads.cu",
        "// to include x\n#include <cuda_fp16.h>\n" + std::string(kPlain));
  CHECK(place.refused({{"source: plain.cu", "source: reads.cu"}}) == "nothing was thrown");
}

TEST_CASE("custom: the gate refuses a wrong kernel of a user's") {
  const auto finding = [](const std::string& from, const std::string& to) {
    const Verdict verdict = Fixture().gate_kernel(from, to);
    return to_text(verdict.finding) + ": " + verdict.message;
  };
  CHECK(Fixture().gate().right());
  CHECK(test::has(finding("step(x[i], y[i], a)", "step(x[i], y[i], a) * 1.0001f"), "wrong: y["));
  // One element of the last, incomplete block.
  CHECK(test::has(finding("if (i < n) y", "if (i < n - 1) y"), "wrong: y["));
  CHECK(test::has(finding("if (i < n) y", "if (i <= n) y"), "past the end of"));
  CHECK(test::has(finding("if (i < n) y[i] =", "if (i < n) y[i] = x[i] == 0 ? 0 :"), "right"));
  CHECK(test::has(finding("step(x[i], y[i], a);", "step(x[i], y[i], a), ((T*)x)[i] = 0;"),
                  "wrote to an input"));
  CHECK(test::has(finding("= step(x[i], y[i], a)", "+= blockIdx.x == 0 ? x[i] / 0 : 0"), "finite"));
  // Right for the a that is always given.
  CHECK(test::has(finding("step(x[i], y[i], a)", "step(x[i], y[i], T(2.5))"), "right"));
}

TEST_CASE("custom: a reference is judged before it is believed") {
  const auto says = [](const std::string& from, const std::string& to, const char* words,
                       const test::Replacements& space = {}) {
    const std::string said =
        Fixture().refused_reference(test::replace(kPlain, {{from, to}}), space);
    CHECK_MESSAGE(test::has(said, words), said);
  };
  const test::Replacements written = {{"role: inout", "role: output"}};
  says("if (i < n) y[i] = a * x[i] + y[i];", "if (i < n / 2) y[i] = a * x[i];", "is never written",
       written);
  says("y[i];", "x[i] / 0;", "a truth must be finite");
  says("if (i < n)", "if (i <= n)", "y");
  says("y[i];", "y[i]; if (i == 0) ((float*)x)[0] = 0;", "wrote to an input");
  says("y[i];", "yy[i];", "it does not compile");
  says("y[i];", "y[i]; asm(\"mov.b32 %0, %1;\" : \"=f\"(y[i]) : \"f\"(x[i]));",
       "a `tolerance` in the space goes without it");
  says("y[i];", "y[i]; __shared__ int last; last = i; __syncwarp(); if (i < n) y[i] += last;",
       "race");
  // No integer tells that it was never written, but for a second run over other contents.
  const std::string said = Fixture().refused_reference(
      "__global__ void plain(const float* x, int* y, float a, int n) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n / 2) y[i] = 1;\n}\n",
      {{"y, type: f32, shape: [n], role: inout", "y, type: i32, shape: [n], role: output"}});
  CHECK_MESSAGE(test::has(said, "is never written"), said);
}

TEST_CASE("custom: how far off a kernel may be is measured, or said") {
  // A sum in another order, in float, is right; in 16 bits it is not.
  CHECK(Fixture().gate({{"  reference:", "  tolerance: {absolute: 1e-3}\n  reference:"}}).right());
  Fixture strict;
  write(strict.folder() / "step.cuh", test::replace(kStep, {{"a * x + y", "a * x + y + T(1e-4)"}}));
  CHECK(strict.gate().finding == Finding::wrong);
  CHECK(strict.gate({{"  reference:", "  tolerance: {absolute: 1e-3}\n  reference:"}}).right());
  CHECK(strict.gate({{"  reference:", "  tolerance: {absolute: 1e-5}\n  reference:"}}).finding ==
        Finding::wrong);
}

TEST_CASE("custom: sizes are set, drawn and told to the kernels") {
  const Fixture place;
  const SpaceFile larger = with_settings(place.file(), {"sizes.n=6000"});
  CHECK(open_project(larger, test::root()).problem->describe({{"n", std::int64_t{6000}}}) ==
        "n=6000");
  CHECK(integer(open_project(larger, test::root()).problem->shape(), "n") == 6000);
  CHECK_THROWS_AS(with_settings(place.file(), {"sizes.m=6000"}), UserError);
  const Project drawn = place.project(
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
  const Fixture place;
  const Project project =
      place.project({{"kernel: scale_add<PER, float>",
                      "kernel: scale_add<PER, float>\n    options: [--fmad=false]"}});
  const Config config = project.space.at(3);
  const Template& from = project.templates[0];
  const Constants& shape = project.problem->shape();
  const Source source = from.render(config, project.problem->defines(shape));
  ExportFacts facts;
  facts.arch = project.target.arch;
  facts.target = "l4";
  facts.template_name = from.name();
  facts.manifest_text = from.manifest_text();
  facts.kernel = source.kernel;
  facts.config = config;
  facts.problem = project.problem->kind();
  facts.settings = project.file.problem_settings;
  facts.shape = shape;
  facts.launch = from.launch(config, project.scope(shape));
  facts.body = source.text;
  const std::string text = export_text(facts);
  std::filesystem::remove_all(place.folder().path());

  CHECK(test::has(text, "Build: nvcc -arch=sm_89 --fmad=false -c FILE.cu"));
  const Exported read = parse_exported(text, "winner.cu");
  CHECK(read.kernel == "scale_add<2, float>");
  const auto problem = make_problem(read.problem, read.settings, "winner.cu: ");
  reference_on_emulator(*problem, project.target);
  const auto device = open_device("emulator:l4", project.target, test::root());
  const auto compiler = open_nvrtc();
  ExportedKernel kernel(read, *problem, project.target, *compiler, *device);
  TruthCache truth(*problem);
  const Verdict verdict = Gate(*device, truth)
                              .check([&](const Constants& each) { return kernel.bind(each); },
                                     gate_cases(problem->suites().front(), 7));
  CHECK_MESSAGE(verdict.right(), to_text(verdict.finding), ": ", verdict.message);
}

TEST_CASE("custom: what is constant is in the kernel's variable, for each launch") {
  const auto finding = [](const std::string& use, const std::string& changed_use) {
    const Fixture place;
    write(
        place.folder() / "mine.cu",
        test::replace(kMine, {{"template <int per", "__constant__ float w[20];\ntemplate <int per"},
                              {"step(x[i], y[i], a)", use}}));
    write(place.folder() / "plain.cu",
          "__constant__ float w[20];\n" + test::replace(kPlain, {{"+ y[i]", changed_use}}));
    return place
        .gate({{"    - {name: n,",
                "    - {name: w, type: f32, shape: [20], constant: true}\n    - {name: n,"}})
        .finding;
  };
  CHECK(finding("step(x[i], y[i], a) + w[i % 20]", "+ y[i] + w[i % 20]") == Finding::right);
  CHECK(finding("step(x[i], y[i], a) + w[i % 19]", "+ y[i] + w[i % 20]") == Finding::wrong);
  CHECK(finding("step(x[i], y[i], a)", "+ y[i] + w[i % 20]") == Finding::wrong);
  CHECK(test::has(Fixture().refused({{"    - {name: n,",
                                      "    - {name: w, type: f32, shape: [20000], constant: true}\n"
                                      "    - {name: n,"}}),
                  "constant memory has 65536"));
}

TEST_CASE("custom: texts that are nearly such a space give a problem or an error") {
  const std::string good = Fixture().file().text;
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
    } catch (const UserError&) {
    }
  }
  CHECK(built > 50);
  CHECK(built < 1500);
}

TEST_CASE("custom: expected values may stand in a file instead of a reference") {
  const Fixture place;
  std::vector<float> x(777), y(777), right(777);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(i % 31) - 15;
    y[i] = static_cast<float>(i % 7);
    right[i] = 2.5F * x[i] + y[i];
  }
  const auto save = [&](const char* name, const std::vector<float>& values) {
    write(place.folder() / name, npy_text("<f4", {777}, std::as_bytes(std::span(values))));
  };
  save("x.npy", x);
  save("y.npy", y);
  save("right.npy", right);
  const test::Replacements in_files = {
      {"sizes: [{n: 5000}, {n: 1}, {n: 777}]", "sizes: {n: 777}\n  tolerance: {relative: 1e-6}"},
      {"{name: x, type: f32, shape: [n]}", "{name: x, type: f32, shape: [n], fill: {file: x.npy}}"},
      {"role: inout}", "role: inout, fill: {file: y.npy}}"},
      {"  reference:\n    source: plain.cu\n    kernel: plain\n"
       "    launch: {grid: [\"ceil_div(problem.n, 256)\"], block: [256]}\n",
       "  expected: {y: right.npy}\n"}};
  CHECK(place.gate(in_files).right());
  const Verdict verdict = place.gate(in_files, "mission");
  CHECK(verdict.cases == 1);

  right[700] += 1;
  save("right.npy", right);
  CHECK(place.gate(in_files).finding == Finding::wrong);
  // A file is the one that the space was read with, or none.
  const SpaceFile before = place.file(in_files);
  right[700] -= 1;
  save("right.npy", right);
  const Project project = open_project(before, test::root());
  CHECK(test::has(test::message_of<UserError>([&] {
                    test::Bench(project, "emulator:l4")
                        .gate(project.templates[0], project.space.at(0), "quick");
                  }),
                  "is not the file any more"));
  const auto says = [&](const std::string& from, const std::string& to, const char* words) {
    test::Replacements changes = in_files;
    changes[3].second = test::replace(changes[3].second, {{from, to}});
    const std::string said = test::message_of<UserError>([&] { place.gate(changes); });
    CHECK_MESSAGE(test::has(said, words), said);
  };
  says("right.npy", "none.npy", "there is no file");
  says("right.npy", "../right.npy", "lies outside");
  says("{y: right", "{x: right", "'x' is no result");
  write(place.folder() / "right.npy", "\x93NUMPY");
  says("right", "./right", "is no .npy file");
}
