// What is found in a space's sources and launches before anything is compiled. tests/tools/space/slips.py has
// the slips; here are the rules' other sides.
#include "engine/tuner/task/task_check.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include <doctest/doctest.h>

#include "engine/kernel/compile/located_error.hpp"
#include "engine/space_file/space_settings.hpp"
#include "engine/tuner/task/variant.hpp"
#include "tests/engine/problem/custom/custom_space.hpp"

namespace fa_tune::test {

using namespace fa_tune::space;
using namespace fa_tune::tuner;

namespace {

// README's kernel written as one would: its template parameter is the space's.
const Replacements kNatural = {
    {"int per, typename T", "int PER, typename T"}, {"k < per", "k < PER"}, {"* per +", "* PER +"}};

std::string rendered(const TuningTask& task, std::int64_t per) {
  const Config config(
      {{"template", std::string("mine")}, {"BLOCK", std::int64_t{64}}, {"PER", per}});
  const kernel::Source source = task.templates[0].render(config, {});
  return source.kernel + "\n" + source.text.substr(0, source.text.find("\n\n"));
}

}  // namespace

TEST_CASE("task check: nothing is found in what is shipped") {
  for (const auto& file : std::filesystem::directory_iterator(root() / "search_spaces")) {
    if (file.path().extension() != ".yaml") continue;
    CAPTURE(file.path().string());
    const TuningTask task = test::task(file.path().filename().string());
    for (const TaskFindings& found : {check_sources(task), check_launches(task)}) {
      for (const std::string& line : found.errors) CHECK_MESSAGE(line.empty(), line);
      for (const std::string& line : found.warnings) CHECK_MESSAGE(line.empty(), line);
    }
  }
}

TEST_CASE("task check: textures are refused by name, and a grid that syncs is asked for") {
  const CustomSpace place;
  const auto with = [&](const std::string& text, const Replacements& changes = {}) {
    write_text(place.folder() / "mine.cu", kCustomMine + text);
    return check_sources(place.task(changes));
  };
  const auto line = std::to_string(2 + std::ranges::count(std::string(kCustomMine), '\n'));
  TaskFindings found =
      with("// textures: tex2D(t, 1, 2)\n  __device__ float f(cudaTextureObject_t t);");
  REQUIRE(found.errors.size() == 1);
  CHECK_MESSAGE(has(found.errors[0],
                    "mine.cu:" + line +
                        ":22: cudaTextureObject_t: textures and "
                        "surfaces are not supported: take a pointer instead, clamp the index"),
                found.errors[0]);
  found = with("#if PER > 7\n  __device__ float f(cudaTextureObject_t t);\n#endif");
  CHECK(found.errors.empty());
  CHECK(found.warnings.size() == 1);

  const std::string syncs = "__device__ void f() { this_grid().sync(); }";
  found = with(syncs);
  CHECK(found.errors.empty());
  REQUIRE(found.warnings.size() == 1);
  CHECK_MESSAGE(has(found.warnings[0],
                    "this_grid: if the whole grid syncs here, write "
                    "`cooperative: true` into the launch"),
                found.warnings[0]);
  found = with(syncs, {{"block: [BLOCK]}", "block: [BLOCK], cooperative: \"PER > 1\"}"}});
  CHECK(found.warnings.empty());
}

TEST_CASE("a launch is cooperative, or programmatic, where the manifest says so") {
  const CustomSpace place;
  const TuningTask task =
      place.task({{"block: [BLOCK]}",
                   "block: [BLOCK], cooperative: \"PER > 1\", programmatic: \"PER == 1\"}"}});
  int together = 0;
  for (std::uint64_t i = 0; i < task.space.count(); ++i) {
    const Config config = task.space.at(i);
    const auto planned = task.template_of(config).plan(config, task.scope(task.problem->shape()));
    REQUIRE(planned);
    CHECK(planned->config.cooperative == (std::get<std::int64_t>(*config.find("PER")) > 1));
    CHECK(planned->config.programmatic == !planned->config.cooperative);
    together += planned->config.cooperative ? 1 : 0;
  }
  CHECK(together > 0);
}

TEST_CASE("template parameter: a parameter of the space is one where the kernel's name has it") {
  const CustomSpace place;
  write_text(place.folder() / "mine.cu", replace(kCustomMine, kNatural));
  const TuningTask task = place.task();
  CHECK(task.templates[0].template_parameters() == std::vector<std::string>{"PER"});
  CHECK(check_sources(task).errors.empty());
  CHECK(task.idle_parameters().empty());
  CHECK(rendered(task, 2) ==
        "scale_add<2, float>\n#define BLOCK 64\n// template parameter PER = 2");
  // Their texts differ, so that none is taken for the other's duplicate.
  CHECK(rendered(task, 1) ==
        "scale_add<1, float>\n#define BLOCK 64\n// template parameter PER = 1");
  CHECK(place.gate().finding == gate::Finding::kPassed);

  // One that only the source's list has, or only the name, is #defined as ever.
  write_text(place.folder() / "mine.cu", kCustomMine);
  CHECK(rendered(place.task(), 2) == "scale_add<2, float>\n#define BLOCK 64\n#define PER 2");
  write_text(place.folder() / "mine.cu", replace(kCustomMine, kNatural));
  const TuningTask unnamed = place.task({{"scale_add<PER, float>", "scale_add<2, float>"}});
  CHECK(rendered(unnamed, 2) == "scale_add<2, float>\n#define BLOCK 64\n#define PER 2");
  REQUIRE(check_sources(unnamed).errors.size() == 1);
  CHECK(has(check_sources(unnamed).errors[0], "PER is a template parameter at mine.cu:3, which"));
}

TEST_CASE("template parameter: one that an #if asks for is refused") {
  const CustomSpace place;
  write_text(place.folder() / "mine.cu",
             replace(kCustomMine, kNatural) + "#if PER > 1\n#error\n#endif\n");
  CHECK(
      has(place.refused({}), "mine.yaml:18:13: kernel: PER is a template parameter at mine.cu:3"));
  CHECK(has(place.refused({}), "mine.cu:10 asks for it with an #if"));
}

TEST_CASE("options: a parameter's value is each config's own") {
  const CustomSpace place;
  const Replacements changes = {
      {"    launch: {grid: [\"ceil_div(problem.n, BLOCK * PER)\"]",
       "    options: [--use_fast_math, --maxrregcount=REGS, --fmad=FMA]\n"
       "    launch: {grid: [\"ceil_div(problem.n, BLOCK * PER)\"]"},
      {"PER: [1, 2]\n", "PER: [1, 2]\n  REGS: [32, 64]\n  FMA: [true, false]\n"}};
  const TuningTask task = place.task(changes);
  CHECK(task.idle_parameters().empty());
  std::set<std::string> all;
  for (std::uint64_t i = 0; i < task.space.count(); ++i)
    for (const std::string& option : task.templates[0].options(task.space.at(i)))
      all.insert(option);
  CHECK(all == std::set<std::string>{"--use_fast_math", "--maxrregcount=32", "--maxrregcount=64",
                                     "--fmad=true", "--fmad=false"});
  // What the compiler is given is what its code shows.
  Bench bench(task, device_under_test());
  const auto registers = [&](std::int64_t most) {
    Config config = task.space.at(0);
    config.set("REGS", most);
    const auto variant = make_variant(task, config, bench.pool(), bench.device());
    variant->begin();
    REQUIRE(variant->compiled().has_value());
    return variant->compiled()->image.resources.registers;
  };
  CHECK(registers(32) <= 32);
  Replacements wrong = changes;
  wrong[1].second = "PER: [1, 2]\n  REGS: [32, 64]\n  FMA: [1, 0]\n";
  CHECK(has(place.refused(wrong), "options: '--fmad=1' is not among"));
}

TEST_CASE("task check: a shape that is gated counts too") {
  const CustomSpace place;
  const TuningTask task = place.task({{"{n: 777}", "{n: 140000}"},
                                      {"grid: [\"ceil_div(problem.n, BLOCK * PER)\"]",
                                       "grid: [1, \"ceil_div(problem.n, PER)\"]"}});
  const TaskFindings found = check_launches(task);
  CHECK(found.errors.size() == 1);
  const TaskFindings some =
      check_launches(place.task({{"{n: 777}", "{n: 70000}"},
                                 {"grid: [\"ceil_div(problem.n, BLOCK * PER)\"]",
                                  "grid: [1, \"ceil_div(problem.n, PER)\"]"}}));
  CHECK(some.errors.empty());
  REQUIRE(some.warnings.size() == 1);
  CHECK_MESSAGE(has(some.warnings[0], "2 of 4 valid configs cannot be launched"), some.warnings[0]);
}

TEST_CASE("compile errors: of a space, of a changed size, and of a stored run") {
  const CustomSpace place;
  write_text(place.folder() / "step.cuh",
             "\n" + replace(kCustomStep, {{"return a", "return none"}}));
  const auto said = [&](const TuningTask& task) {
    Bench bench(task, device_under_test());
    const auto variant = make_variant(task, task.space.at(0), bench.pool(), bench.device());
    variant->begin();
    REQUIRE_FALSE(variant->compiled().has_value());
    return kernel::located(variant->compiled().error(), variant->source());
  };
  const SpaceFile file = place.file();
  CHECK(has(said(opened(file)), "step.cuh(2): error: identifier \"none\" is undefined"));
  CHECK(has(said(opened(with_settings(file, {"sizes.n=60"}))), "step.cuh(2): error: "));
  // Its text is flat; the lines before it are not counted.
  CHECK(has(said(opened(parse_space_file(file.text, "stored"))),
            "mine.cu with its includes(4): error: "));
}

}  // namespace fa_tune::test
