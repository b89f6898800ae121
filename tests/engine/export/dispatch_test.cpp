// What an exported program chooses is what the tree chooses.

#include "engine/export/dispatch.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/util/file.hpp"
#include "engine/util/random.hpp"
#include "tests/engine/export/programs.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace fa_tune::exports;

namespace {

// if D == 64: (if B * H < 24: 0 else: 2) else: (if causal == true: 1 else: (if dtype == "fp16": 2, else: 0))
DispatchTree some_tree() {
  const auto less = [](std::vector<std::string> product, std::int64_t below) {
    return Split{.product = std::move(product), .below = below};
  };
  const auto equal = [](const std::string& name, const Value& value) {
    return Split{.product = {name}, .equality = true, .value = value};
  };
  DispatchTree tree;
  tree.nodes = {{.split = equal("D", std::int64_t{64}), .then = 1, .otherwise = 4},
                {.split = less({"B", "H"}, 24), .then = 2, .otherwise = 3},
                {.choice = 0},
                {.choice = 2},
                {.split = equal("causal", true), .then = 5, .otherwise = 6},
                {.choice = 1},
                {.split = equal("dtype", std::string("fp16")), .then = 7, .otherwise = 8},
                {.choice = 2},
                {.choice = 0}};
  tree.ranges = {{"B", 1, 16}, {"H", 2, 32}};
  tree.robust = {1, 2, 0};
  return tree;
}

// At the threshold and at both ends of each range; then others, many of them out of range.
std::vector<Constants> drawn_shapes() {
  std::vector<Constants> shapes;
  const auto add = [&](std::int64_t B, std::int64_t H, std::int64_t D, bool causal) {
    shapes.push_back(
        {{"B", B}, {"H", H}, {"D", D}, {"causal", causal}, {"dtype", std::string("fp16")}});
  };
  for (const auto& [B, H] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {4, 6}, {1, 23}, {5, 5}, {1, 2}, {0, 2}, {1, 1}, {16, 32}, {17, 32}, {16, 33}})
    add(B, H, 64, false);
  Random random(9);
  for (int i = 0; i < 200; ++i)
    add(static_cast<std::int64_t>(random.below(20)), static_cast<std::int64_t>(random.below(40)),
        random.below(2) == 0 ? 64 : 128, random.below(2) == 0);
  return shapes;
}

}  // namespace

TEST_CASE("dispatch: a tree in words and as JSON") {
  const DispatchTree tree = some_tree();
  CHECK(tree.leaves() == 5);
  CHECK(dispatch_text(tree, {"a", "b", "c"}) ==
        "if D == 64:\n  if B * H < 24:\n    a\n  else:\n    c\nelse:\n  if causal == true:\n"
        "    b\n  else:\n    if dtype == fp16:\n      c\n    else:\n      a\n");
  const auto json = dispatch_json(tree, {7, 8, 9});
  CHECK(json["outside"] == 8);
  CHECK(json["ranges"]["H"][1] == 32);
  CHECK(json["tree"]["if"]["member"] == "D");
  CHECK(json["tree"]["then"]["if"]["product"] == std::vector<std::string>{"B", "H"});
  CHECK(json["tree"]["then"]["if"]["below"] == 24);
  CHECK(json["tree"]["then"]["then"]["choice"] == 7);
}

TEST_CASE("dispatch: C++ and Python choose as the tree does") {
  const DispatchTree tree = some_tree();
  const Constants fixed = {{"dtype", std::string("fp16")}};
  std::string cxx =
      "#include <cstdint>\nstruct Sizes { std::int64_t B, H, D; bool causal; };\n"
      "namespace {\n" +
      cxx_dispatch(tree, fixed) + "}\nint main() {\n";
  std::string python = python_dispatch(tree) + "\n";
  int inside = 0;
  for (const Constants& shape : drawn_shapes()) {
    const bool causal = std::get<bool>(shape.at("causal"));
    const std::int64_t B = integer(shape, "B"), H = integer(shape, "H"), D = integer(shape, "D");
    cxx += fmt::format("  if (dispatch({{{}, {}, {}, {}}}) != {}) return 1;\n", B, H, D, causal,
                       tree.choice(shape));
    python += fmt::format(
        "assert _dispatch({{'B': {}, 'H': {}, 'D': {}, 'causal': {}, 'dtype': 'fp16'}}) == {}\n", B,
        H, D, causal ? "True" : "False", tree.choice(shape));
    inside += tree.in_ranges(shape) ? 1 : 0;
  }
  CHECK(inside > 50);
  CHECK(inside < 180);
  const ScratchFolder folder;
  write_file(folder / "choose.cpp", cxx + "}\n");
  write_file(folder / "choose.py", python);
  const std::string program = (folder / "choose").string();
  REQUIRE(runs(FA_TUNE_CXX " -std=c++17 -Wall -Wextra -Wpedantic -Werror " + program + ".cpp -o " +
               program));
  CHECK(runs(program));
  CHECK(runs(FA_TUNE_PYTHON " " + program + ".py"));
}

}  // namespace fa_tune::test
