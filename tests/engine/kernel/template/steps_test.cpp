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

template <typename T>
std::vector<std::byte> bytes_of(T value) {
  const auto* const first = reinterpret_cast<const std::byte*>(&value);
  return {first, first + sizeof value};
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

TEST_CASE("steps: what the tiles of a launch rest on is looked up, and is no use of a parameter") {
  const auto with_tiles = [](const std::string& steps, const std::string& sets = "2") {
    return of_steps("kernel: k\nlaunch: {grid: [1], block: [1], tiles: {sets: " + sets +
                    ", of_a_set: 3, steps: \"" + steps + "\"}}\narguments: []\n");
  };
  CHECK_NOTHROW(with_tiles("tile + B").require_names({"A", "B"}));
  CHECK_THROWS_AS(with_tiles("tile + nowhere").require_names({"A", "B"}), UserError);
  CHECK_THROWS_AS(with_tiles("B", "tile").require_names({"A", "B"}), UserError);
  CHECK_FALSE(with_tiles("tile + B").uses("B"));
  CHECK_THROWS_AS(
      of_steps("kernel: k\nlaunch: {grid: [1], block: [1], tiles: {sets: 1}}\narguments: []\n"),
      UserError);
}

TEST_CASE("steps: kernels take numbers that rest on parameters, sizes and the device") {
  const std::string one =
      "kernel: k\nlaunch: {grid: [A], block: [32]}\n"
      "arguments: [x, parts, {name: last, when: B > 1}]\nderived: {C: A * 2}\n"
      "scalars:\n"
      "  parts: {type: int, value: \"ceil_div(problem.n, C)\"}\n"
      "  last: {type: f32, value: 12 // (B - 1)}\n"
      "  unused: {type: u8, value: problem.nowhere}\n";
  const auto planned = [&](std::int64_t a, std::int64_t b) {
    return of_steps(one).require_plan(config_of(a, b), kShape).scalars;
  };
  // What no kernel takes for a config need not have a value there.
  CHECK(planned(2, 1) == std::vector<PlannedScalar>{{"parts", DType::i32, bytes_of<int>(2)}});
  CHECK(planned(1, 4) == std::vector<PlannedScalar>{{"parts", DType::i32, bytes_of<int>(4)},
                                                    {"last", DType::f32, bytes_of<float>(4)}});
  const Template loaded = of_steps(one);
  CHECK_NOTHROW(loaded.require_known({"x"}));
  CHECK_THROWS_AS(loaded.require_known({"x", "parts"}), UserError);
  CHECK_THROWS_AS(loaded.require_names({"A", "B", "problem.n"}), UserError);  // problem.nowhere
  CHECK(of_steps("kernel: k\nlaunch: {grid: [1], block: [1]}\narguments: [n]\n"
                 "scalars: {n: {type: i32, value: B}}\n")
            .uses("B"));
}

TEST_CASE("steps: a scalar is of any of the types that numbers have, to the last bit") {
  const auto bytes = [](const std::string& type, const std::string& value) {
    return of_steps(
               "kernel: k\nlaunch: {grid: [1], block: [1]}\narguments: [s]\nscalars: {s: {type: " +
               type + ", value: " + value + "}}\n")
        .require_plan(config_of(3, 200), kShape)
        .scalars.at(0)
        .bytes;
  };
  CHECK(bytes("i8", "0 - A") == bytes_of<std::int8_t>(-3));
  CHECK(bytes("u8", "B") == bytes_of<std::uint8_t>(200));
  CHECK(bytes("short", "B * A") == bytes_of<std::int16_t>(600));
  CHECK(bytes("u16", "B * 300") == bytes_of<std::uint16_t>(60000));
  CHECK(bytes("i32", "-5") == bytes_of<std::int32_t>(-5));
  CHECK(bytes("u32", "4294967295") == bytes_of<std::uint32_t>(4294967295));
  CHECK(bytes("int64_t", "B * 5000000000") == bytes_of<std::int64_t>(1000000000000));
  CHECK(bytes("size_t", "18446744073709551615") == bytes_of<std::uint64_t>(UINT64_MAX));
  CHECK(bytes("bool", "A > 2") == bytes_of<bool>(true));
  CHECK(bytes("bool", "A - 3") == bytes_of<bool>(false));
  CHECK(bytes("float", "0.5") == bytes_of<float>(0.5F));
  CHECK(bytes("f64", "B") == bytes_of<double>(200));
  CHECK(bytes("half", "1.5") == bytes_of<std::uint16_t>(0x3e00));
  CHECK(bytes("bf16", "1.5") == bytes_of<std::uint16_t>(0x3fc0));
  CHECK(bytes("e4m3", "1.5") == bytes_of<std::uint8_t>(0x3c));
  CHECK(bytes("e5m2", "1.5") == bytes_of<std::uint8_t>(0x3e));
}

TEST_CASE("steps: mistakes of scalars are told with their place") {
  const auto refusal = [](const std::string& scalar) {
    return steps_refusal(
        "kernel: k\nlaunch: {grid: [1], block: [1]}\narguments: [s]\nscalars:\n  " + scalar + "\n");
  };
  CHECK(refusal("s: {type: i32, value: B}") == "accepted");
  CHECK(refusal("s: {type: i33, value: B}").find("t.yaml:8:13: type: ") == 0);
  CHECK(refusal("s: {type: i8, value: B * 128}") ==
        "t.yaml:8:24: 's' is 128, which an i8 cannot hold");
  CHECK(refusal("s: {type: u32, value: -1}") == "t.yaml:8:25: 's' is -1, which a u32 cannot hold");
  CHECK(refusal("s: {type: i32, value: 0.5}").find("t.yaml:8:25: value: ") == 0);
  CHECK(refusal("s: {type: i32, value: B +}").find("t.yaml:8:28: ") == 0);
  CHECK(refusal("s: {type: i32}").find("value") != std::string::npos);
  CHECK(refusal("s: {type: i32, value: 1, shape: [2]}").find("t.yaml:8:") == 0);
  CHECK(refusal("s-t: {type: i32, value: 1}").find("t.yaml:8:3: scalars: ") == 0);
  CHECK(refusal("s: {type: i32, value: 1}\n  s: {type: i32, value: 2}").find("t.yaml:9:3: ") == 0);
  try {
    of_steps(
        "kernel: k\nlaunch: {grid: [1], block: [1]}\narguments: [s]\n"
        "workspaces: {s: {type: u32, shape: [1]}}\nscalars:\n  s: {type: i32, value: 1}\n")
        .require_known({});
    FAIL("accepted");
  } catch (const UserError& error) {
    CHECK(std::string(error.what()).find("t.yaml:9:3: scalars: 's' is one of the template's") == 0);
  }
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
