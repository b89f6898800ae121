// What an exported program chooses is what the engine chooses.

#include "engine/export/dispatch.hpp"

#include <algorithm>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/export/text.hpp"
#include "engine/util/file.hpp"
#include "engine/util/random.hpp"
#include "tests/engine/export/programs.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace fa_tune::exports;
using expression::Residue;

namespace {

// Three kernels: tiles of 64 rows that each have a block, of 128 in rounds, and two launches of which
// one has blocks alike. The last is for full attention alone.
Dispatch some_dispatch() {
  const QueueFormulas single = {Residue::of_text("H"), Residue::of_text("3"),
                                Residue::of_text("ceil_div(L, 64)"),
                                Residue::of_text("min(L // 64, ceil_div(L, 64) - tile) + 1"),
                                Residue::of_text("H * ceil_div(L, 64)")};
  const QueueFormulas rounds = {Residue::of_text("H"), Residue::of_text("1"),
                                Residue::of_text("ceil_div(L, 128)"),
                                Residue::of_text("2 * tile + 1"), Residue::of_text("min(7, H)")};
  const kernel::KernelFormulas alike = {
      {Residue::of_text("ceil_div(L, 32)"), Residue::of_text("H"), Residue::of_text("1")},
      {Residue::of_text("32"), Residue::of_text("1"), Residue::of_text("1")},
      {Residue::of_text("2"), Residue::of_text("1"), Residue::of_text("1")},
      Residue::of_text("0")};
  Dispatch dispatch;
  for (const bool causal : {false, true}) {
    const Constants category = {{"causal", causal}, {"dtype", std::string("fp16")}};
    dispatch.costs.push_back({0, category, {single}, 12, 24, 6, 1.25, causal ? 0.4 : 0.9, 0});
    dispatch.costs.push_back({1, category, {rounds}, 99, 8, 3, 3.5, causal ? 0.3 : 0.2, 0.04});
  }
  dispatch.costs.push_back({2,
                            {{"causal", false}, {"dtype", std::string("fp16")}},
                            {single, queue_of(alike, {"H", "L"})},
                            40,
                            0,
                            20,
                            0.1,
                            0.15,
                            0.08});
  dispatch.ranges = {{"H", 1, 30}, {"L", 10, 4000}};
  dispatch.robust = {1, 2, 0};
  return dispatch;
}

std::vector<Constants> drawn_shapes() {
  std::vector<Constants> shapes;
  const auto add = [&](std::int64_t H, std::int64_t L, bool causal) {
    shapes.push_back({{"H", H}, {"L", L}, {"causal", causal}, {"dtype", std::string("fp16")}});
  };
  for (const std::int64_t H : {0, 1, 30, 31})
    for (const std::int64_t L : {9, 10, 64, 65, 4000, 4001}) add(H, L, true);
  Random random(9);
  for (int i = 0; i < 200; ++i)
    add(static_cast<std::int64_t>(1 + random.below(34)),
        static_cast<std::int64_t>(1 + random.below(4200)), random.below(2) == 0);
  return shapes;
}

// By trying all places of a block for each tile.
std::int64_t longest_by_hand(const QueueAtShape& queue, std::int64_t slots) {
  std::vector<std::int64_t> order;
  for (std::int64_t first = 0; first < queue.sets; first += queue.together)
    for (const std::int64_t steps : queue.steps)
      for (std::int64_t i = first; i < std::min(first + queue.together, queue.sets); ++i)
        order.push_back(16 * steps);
  const bool rounds = queue.blocks < std::ssize(order);
  std::vector<std::int64_t> busy(static_cast<std::size_t>(rounds ? queue.blocks : slots), 0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t round = i / busy.size(), place = i % busy.size();
    auto lane = rounds ? busy.begin() + static_cast<std::ptrdiff_t>(
                                            round % 2 == 0 ? place : busy.size() - 1 - place)
                       : std::ranges::min_element(busy);
    *lane += order[i];
  }
  return std::ranges::max(busy);
}

}  // namespace

TEST_CASE("dispatch: the longest queue, by hand") {
  const QueueAtShape heads{.sets = 5, .together = 2, .blocks = 15, .steps = {7, 3, 2}};
  for (const std::int64_t slots : {1, 2, 3, 4, 7, 14, 15, 40})
    CHECK(heads.longest(slots, 0) == longest_by_hand(heads, slots));
  const QueueAtShape rounds{.sets = 5, .together = 2, .blocks = 4, .steps = {7, 3, 2}};
  CHECK(rounds.longest(1, 0) == longest_by_hand(rounds, 1));
  CHECK(rounds.longest(1, 16) > rounds.longest(1, 0));
  // Blocks of 9 9 5 5 1 1 steps on four SMs: where each holds one, the last begin where least is
  // left; where each holds two, they are with the first.
  const QueueAtShape uneven{.sets = 2, .together = 2, .blocks = 6, .steps = {9, 5, 1}};
  CHECK(uneven.busiest(4, 4, 0) == 16 * 9);
  CHECK(uneven.busiest(8, 4, 0) == 16 * 10);
  CHECK(uneven.busiest(4, 4, 16) == 16 * 10);
  // Rounds of four blocks, two on each of two SMs, each of which is the sum of its blocks' tiles.
  CHECK(rounds.busiest(4, 2, 0) == 16 * 33);
  CHECK(rounds.busiest(4, 9, 0) == rounds.longest(1, 0));
  // Two waves of tiles alike.
  CHECK((QueueAtShape{.sets = 11, .together = 1, .blocks = 11, .steps = {4}}.longest(10, 8)) ==
        2 * 72);
  // What lies far before the end counts on average.
  QueueAtShape many{.sets = 900, .together = 3, .blocks = 900 * 4, .steps = {9, 5, 3, 1}};
  const std::int64_t by_hand = longest_by_hand(many, 8);
  CHECK(std::abs(many.longest(8, 0) - by_hand) <= 16 * 9);
}

TEST_CASE("dispatch: blocks of which nothing is known are alike") {
  const kernel::KernelFormulas kernel = {
      {Residue::of_text("ceil_div(L, 32)"), Residue::of_text("H"), Residue::of_text("1")},
      {Residue::of_text("32"), Residue::of_text("1"), Residue::of_text("1")},
      {Residue::of_text("2"), Residue::of_text("1"), Residue::of_text("1")},
      Residue::of_text("0")};
  const auto queue =
      queue_at(queue_of(kernel, {"H", "L"}), {{"H", std::int64_t{6}}, {"L", std::int64_t{320}}});
  REQUIRE(queue);
  CHECK(queue->blocks == 30);  // clusters
  CHECK(queue->sets == 30);
  CHECK(queue->steps == std::vector<std::int64_t>{64});
  CHECK(!queue_at(queue_of(kernel, {"H", "L"}), {{"H", std::int64_t{6}}}));
  CHECK(!queue_at(queue_of(kernel, {"H", "L"}), {{"H", std::int64_t{0}}, {"L", std::int64_t{3}}}));
}

TEST_CASE("dispatch: what is no launch has no queue, and takes no time") {
  const Constants shape = {{"n", std::int64_t{1} << 40}, {"zero", std::int64_t{0}}};
  const auto queue = [&](const std::string& sets, const std::string& together,
                         const std::string& of_a_set, const std::string& steps,
                         const std::string& blocks) {
    return queue_at({Residue::of_text(sets), Residue::of_text(together), Residue::of_text(of_a_set),
                     Residue::of_text(steps), Residue::of_text(blocks)},
                    shape)
        .has_value();
  };
  CHECK(queue("3", "n", "2", "tile", "n"));
  CHECK_FALSE(queue("n", "n", "2", "tile", "n"));
  CHECK_FALSE(queue("1", "1", "n", "tile", "1"));
  CHECK_FALSE(queue("n", "1", "n", "1", "1"));
  CHECK(queue("n // 1024", "1", "1", "3", "1"));
  CHECK_FALSE(queue("n // 1024", "1", "1", "n", "1"));
  CHECK_FALSE(queue("n // 1024", "1", "2", "3", "1"));
  CHECK_FALSE(queue("1", "1", "2", "tile - 1", "1"));
  CHECK_FALSE(queue("1", "1", "2", "1 / zero", "1"));
  CHECK_FALSE(queue("1", "zero", "2", "1", "1"));
}

TEST_CASE("dispatch: as JSON") {
  const auto json = dispatch_json(some_dispatch(), {7, 8, 9});
  CHECK(json["outside"] == 8);
  CHECK(json["ranges"]["L"][1] == 4000);
  REQUIRE(json["costs"].size() == 5);
  CHECK(json["costs"][4]["choice"] == 9);
  CHECK(json["costs"][0]["overhead_steps"] == 1.5);
  CHECK(json["costs"][0]["queues"][0]["of_a_set"] == "ceil_div(L, 64)");
  CHECK(json["costs"][4]["category"]["causal"] == false);
}

TEST_CASE("dispatch: C++ and Python choose as the engine does") {
  const Dispatch dispatch = some_dispatch();
  const Constants fixed = {{"dtype", std::string("fp16")}};
  std::string cxx =
      "#include <algorithm>\n#include <cstdint>\n#include <cstring>\n#include <functional>\n"
      "#include <initializer_list>\n#include <mutex>\n#include <vector>\n"
      "struct Sizes { std::int64_t H, L; bool causal; };\nnamespace {\n"
      "bool same(const Sizes& a, const Sizes& b) {\n"
      "  return a.H == b.H && a.L == b.L && a.causal == b.causal;\n}\n" +
      std::string(cxx_number_part()) + cxx_dispatch(dispatch, {"H", "L", "causal"}, fixed) +
      "}\nint main() {\n  for (int twice = 0; twice < 2; ++twice) {\n";
  std::string python =
      "def _ceil_div(a, b):\n    return -(-a // b)\n\n\n" + python_dispatch(dispatch) + "\n";
  std::vector<int> chosen(3, 0);
  int inside = 0;
  for (const Constants& shape : drawn_shapes()) {
    const bool causal = std::get<bool>(shape.at("causal"));
    const std::int64_t H = integer(shape, "H"), L = integer(shape, "L");
    const std::size_t choice = dispatch.choice(shape);
    cxx += fmt::format("  if (dispatch({{{}, {}, {}}}) != {}) return 1;\n", H, L, causal, choice);
    python +=
        fmt::format("assert _dispatch({{'H': {}, 'L': {}, 'causal': {}, 'dtype': 'fp16'}}) == {}\n",
                    H, L, causal ? "True" : "False", choice);
    inside += dispatch.in_ranges(shape) ? 1 : 0;
    if (dispatch.in_ranges(shape)) ++chosen[choice];
    CHECK(dispatch.preferred(shape).front() == choice);
    CHECK(dispatch.preferred(shape).size() == 3);
  }
  CHECK(inside > 100);
  CHECK(inside < 215);
  for (const int each : chosen) CHECK(each > 5);
  const ScratchFolder folder;
  write_file(folder / "choose.cpp", cxx + "  }\n  static_cast<void>(bits_of<int>);\n}\n");
  write_file(folder / "choose.py", python);
  const std::string program = (folder / "choose").string();
  REQUIRE(runs(FA_TUNE_CXX " -std=c++17 -Wall -Wextra -Wpedantic -Werror " + program + ".cpp -o " +
               program));
  CHECK(runs(program));
  CHECK(runs(FA_TUNE_PYTHON " " + program + ".py"));
}

}  // namespace fa_tune::test
