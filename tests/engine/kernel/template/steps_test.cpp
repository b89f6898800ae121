// Templates that launch several kernels, and workspaces.

#include <doctest/doctest.h>

#include "engine/kernel/template/template.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::test {

using namespace fa_tune::kernel;

namespace {

constexpr const char* kStepsHead = "source: t.cu\nproblem: p\nparameters: [A, B]\n";
constexpr const char* kSteps = R"(workspaces:
  parts: {type: f32, shape: [A, problem.n]}
steps:
  - {set: total, value: 255, when: B > 1}
  - kernel: first<A, float>
    launch: {grid: [A, B], block: [32], shared: A * 4}
    arguments: [x, parts]
  - {copy: parts, to: y}
  - kernel: last
    when: A > 1
    launch: {grid: [1], block: [64]}
    arguments: [parts, total, {name: extra, when: B == 2}]
  - kernel: first<A, float>
    when: B == 3
    launch: {grid: [1], block: [32]}
    arguments: [x, parts]
)";

Template of_steps(const std::string& text) {
  return Template::parse("t", kStepsHead + text, "code\n", "t.yaml");
}

Config config_of(std::int64_t a, std::int64_t b) { return Config({{"A", a}, {"B", b}}); }

const Constants kShape = {{"problem.n", std::int64_t{7}}};

std::string steps_refusal(const std::string& text) {
  try {
    static_cast<void>(of_steps(text).require_plan(config_of(1, 1), kShape));
  } catch (const UserError& error) {
    return error.what();
  }
  return "accepted";
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  REQUIRE(text.find(from) != std::string::npos);
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace

TEST_CASE("steps: they are planned in order, those whose condition does not hold left out") {
  const Template loaded = of_steps(kSteps);
  CHECK(loaded.kernel() == "first<A, float>");
  CHECK(loaded.kernels(config_of(4, 1)) == std::vector<std::string>{"first<4, float>", "last"});
  const Source source = loaded.render(config_of(4, 1), {});
  CHECK(source.kernel == "first<4, float>");
  CHECK(source.more == std::vector<std::string>{"last"});

  const PlannedLaunch planned = loaded.require_plan(config_of(4, 2), kShape);
  REQUIRE(planned.steps.size() == 4);
  CHECK(planned.steps[0] == PlannedStep(PlannedFill{"total", 255}));
  const PlannedKernel first{0, {{4, 2, 1}, {32, 1, 1}, {}, 16}, {"x", "parts"}, {}};
  CHECK(planned.steps[1] == PlannedStep(first));
  CHECK(planned.steps[2] == PlannedStep(PlannedCopy{"parts", "y"}));
  const PlannedKernel last{1, {{1, 1, 1}, {64, 1, 1}, {}, 0}, {"parts", "total", "extra"}, {}};
  CHECK(planned.steps[3] == PlannedStep(last));
  CHECK(planned.workspaces == std::vector<PlannedWorkspace>{{"parts", DType::f32, {4, 7}}});
  CHECK(planned.kernels() == std::vector<PlannedKernel>{first, last});

  const PlannedLaunch one = loaded.require_plan(config_of(1, 1), kShape);
  CHECK(one.steps.size() == 2);
  // The same kernel twice is one entry.
  const PlannedLaunch again = loaded.require_plan(config_of(2, 3), kShape);
  CHECK(again.kernels().size() == 3);
  CHECK(again.kernels().back().entry == 0);
}

TEST_CASE("steps: a template of one kernel is planned as ever, and may have workspaces") {
  const std::string one =
      "kernel: k\nlaunch: {grid: [A], block: [32]}\narguments: [x, w]\n"
      "workspaces: {w: {type: i32, shape: [B]}}\n";
  const PlannedLaunch planned = of_steps(one).require_plan(config_of(3, 5), kShape);
  CHECK(planned.steps.empty());
  CHECK(planned.config.grid.x == 3);
  CHECK(planned.kernels().size() == 1);
  CHECK(planned.workspaces == std::vector<PlannedWorkspace>{{"w", DType::i32, {5}}});
  CHECK(of_steps(one).render(config_of(3, 5), {}).more.empty());
}

TEST_CASE("steps: names of arguments, fills and copies are looked up, parameters found") {
  const Template loaded = of_steps(kSteps);
  CHECK_NOTHROW(loaded.require_known({"x", "y", "total", "extra"}));
  const auto unknown = [&](const std::vector<std::string>& names) {
    try {
      loaded.require_known(names);
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK(unknown({"y", "total", "extra"}).find("'x' is neither") != std::string::npos);
  CHECK(unknown({"x", "total", "extra"}).find("'y' is neither") != std::string::npos);
  CHECK(unknown({"x", "y", "total", "extra", "parts"}).find("give the workspace another name") !=
        std::string::npos);
  CHECK_THROWS_AS(loaded.require_names({"A", "B"}), UserError);  // problem.n, of a workspace
  CHECK_NOTHROW(loaded.require_names({"A", "B", "problem.n"}));
  // B is in conditions and sizes alone.
  CHECK(loaded.uses("B"));
  CHECK_FALSE(of_steps("kernel: k\nlaunch: {grid: [1], block: [1]}\narguments: []\n").uses("B"));
}

TEST_CASE("steps: a kernel's name for a person") {
  CHECK(plain_name("_Z4scanILi4EEvPKf") == "scan<4>");
  CHECK(plain_name("_Z15reduction_partsPKfPfi") == "reduction_parts");
  CHECK(plain_name("_ZN1a1kILi4EfEEvPT0_") == "a::k<4, float>");
  CHECK(plain_name("extern_c") == "extern_c");
  CHECK(plain_name("").empty());
}

TEST_CASE("steps: mistakes are told with their place") {
  CHECK(steps_refusal(kSteps) == "accepted");
  CHECK(steps_refusal(std::string(kSteps) + "kernel: k\n").find("belongs to one of the steps") !=
        std::string::npos);
  CHECK(steps_refusal(with(kSteps, "value: 255", "value: 256")).find("0 to 255") !=
        std::string::npos);
  CHECK(steps_refusal(with(kSteps, "type: f32", "type: f33")).find("t.yaml:5:17: type") !=
        std::string::npos);
  CHECK(steps_refusal(with(kSteps, "{copy: parts, to: y}", "{copy: parts}")).find("to") !=
        std::string::npos);
  CHECK(steps_refusal(with(kSteps, "{copy: parts, to: y}", "{move: parts}")).find("`kernel`") !=
        std::string::npos);
  CHECK(steps_refusal("steps: [{set: x, value: 0}]\n").find("a kernel among them") !=
        std::string::npos);
  CHECK(steps_refusal(with(with(kSteps, "  - kernel: first", "  - when: A > 1\n    kernel: first"),
                           "B == 3", "B == 4"))
            .find("no kernel is left") != std::string::npos);
  CHECK(steps_refusal(with(kSteps, "problem.n]", "problem.n - 7]")).find("parts's shape") !=
        std::string::npos);
}

}  // namespace fa_tune::test
