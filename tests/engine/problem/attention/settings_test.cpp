// What a space says of an attention, and the shape that becomes of it.

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "engine/problem/attention/attention.hpp"
#include "engine/tuner/task/make_problem.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::test {

using namespace fa_tune::problem;
using namespace fa_tune::tuner;

namespace {

using Settings = std::vector<std::pair<std::string, Value>>;

Settings mission() {
  return {{"shape.B", std::int64_t{1}},
          {"shape.H", std::int64_t{8}},
          {"shape.L", std::int64_t{512}},
          {"shape.D", std::int64_t{64}},
          {"causal", false},
          {"dtype", std::string("fp16")}};
}

Settings with(const std::string& name, Value value) {
  Settings settings = mission();
  std::erase_if(settings, [&](const auto& each) { return each.first == name; });
  settings.emplace_back(name, std::move(value));
  return settings;
}

std::string refusal(const Settings& settings) {
  try {
    make_problem("attention", settings, "l4.yaml:5:3: ");
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("attention: settings become a shape, defines, a line for a person and rooflines") {
  const auto problem = make_problem("attention", mission(), "");
  CHECK(
      to_json(problem->shape()) ==
      R"({"B":1,"D":64,"H":8,"Lk":512,"Lq":512,"causal":false,"causal_alignment":"top_left","dtype":"fp16"})");
  CHECK(problem->describe(problem->shape()) == "B=1 H=8 Lq=512 Lk=512 D=64 fp16");
  using Defines = std::vector<std::pair<std::string, std::string>>;
  CHECK(problem->defines(problem->shape()) == Defines{{"HEAD_DIM", "64"},
                                                      {"CAUSAL", "0"},
                                                      {"CAUSAL_BOTTOM_RIGHT", "0"},
                                                      {"DTYPE_BF16", "0"},
                                                      {"DTYPE_E4M3", "0"},
                                                      {"KV_GROUP", "1"},
                                                      {"LAYOUT_BSHD", "0"},
                                                      {"WITH_LSE", "0"},
                                                      {"WINDOW_LEFT", "0"},
                                                      {"WINDOW_RIGHT", "0"},
                                                      {"SOFTCAP", "0"},
                                                      {"ALIBI", "0"},
                                                      {"SCALE_ROWS", "0"},
                                                      {"V_POWERS_OF_TWO", "0"}});
  CHECK(problem->flop(problem->shape()) == 4.0 * 8 * 512 * 512 * 64);
  CHECK(problem->bytes(problem->shape()) == 4.0 * 8 * 512 * 64 * 2);

  const auto causal = make_problem("attention", with("causal", true), "");
  CHECK(causal->flop(causal->shape()) == 4.0 * 8 * (512.0 * 513 / 2) * 64);
  CHECK(causal->describe(causal->shape()) == "B=1 H=8 Lq=512 Lk=512 D=64 fp16 causal");
}

TEST_CASE("attention: what is wrong in the settings is said in one line, with the place") {
  CHECK_THROWS_WITH_AS(
      make_problem("convolution", {}, "a.yaml:2:3: "),
      "a.yaml:2:3: unknown problem kind 'convolution': the known kinds are: attention, custom",
      UserError);
  CHECK(refusal(with("dtype", std::string("fp8"))) ==
        "l4.yaml:5:3: attention: 'dtype' is fp8: expected fp16 or bf16 or e4m3");
  CHECK(refusal(with("shape.B", std::int64_t{0})) ==
        "l4.yaml:5:3: attention: 'shape.B' is 0: expected an integer from 1 to 65535");
  CHECK(refusal(with("shape.D", std::string("big"))).find("expected an integer") !=
        std::string::npos);
  CHECK(refusal(with("causal", std::int64_t{1})).find("expected true or false") !=
        std::string::npos);
  CHECK(refusal(with("shape.Lq", std::int64_t{5})).find("stands for both") != std::string::npos);
  CHECK(refusal(with("head_dim", std::int64_t{5})).find("unknown setting 'head_dim'") !=
        std::string::npos);
  CHECK(refusal(with("causal_alignment", std::string("left"))).find("top_left or bottom_right") !=
        std::string::npos);
  CHECK(refusal({{"shape.B", std::int64_t{1}}}).find("'shape.H' is missing") != std::string::npos);
  Settings huge = with("shape.L", std::int64_t{1} << 20);
  huge[0].second = std::int64_t{60'000};
  CHECK(refusal(huge).find("2^31") != std::string::npos);
  Settings twice = mission();
  twice.emplace_back("causal", true);
  CHECK(refusal(twice).find("given twice") != std::string::npos);
  CHECK(refusal(with("scale", std::string("default"))).empty());
}

TEST_CASE("attention: every feature has its setting, its defines and its words") {
  Settings settings = with("shape.Hkv", std::int64_t{2});
  settings.emplace_back("layout", std::string("BSHD"));
  settings.emplace_back("lse", true);
  settings.emplace_back("window.0", std::int64_t{64});
  settings.emplace_back("window.1", std::int64_t{8});
  settings.emplace_back("softcap", std::int64_t{30});
  settings.emplace_back("alibi", true);
  const auto problem = make_problem("attention", settings, "");
  const Constants& shape = problem->shape();
  CHECK(problem->describe(shape) ==
        "B=1 H=8 Hkv=2 Lq=512 Lk=512 D=64 fp16 window=[64,8] softcap=30 alibi BSHD lse");
  CHECK(AttentionShape::from(shape).constants() == shape);
  CHECK(shape.at("softcap") == Value(30.0));
  std::set<std::string> on;
  for (const auto& [name, value] : problem->defines(shape))
    if (value != "0") on.insert(name + "=" + value);
  CHECK(on == std::set<std::string>{"HEAD_DIM=64", "KV_GROUP=4", "LAYOUT_BSHD=1", "WITH_LSE=1",
                                    "WINDOW_LEFT=1", "WINDOW_RIGHT=1", "SOFTCAP=1", "ALIBI=1"});
  const Constants complete = problem->complete(shape);
  CHECK(integer(complete, "group") == 4);
  CHECK(complete.at("capped") == Value(true));
  // Q, O of 8 heads and K, V of 2; LSE; slopes.
  CHECK(problem->bytes(shape) == (2 * 8 + 2 * 2) * 512.0 * 64 * 2 + 8 * 512 * 4 + 8 * 4);
  std::int64_t pairs = 0;
  for (std::int64_t q = 0; q < 512; ++q)
    pairs += std::min<std::int64_t>(512, q + 9) - std::max<std::int64_t>(0, q - 64);
  CHECK(problem->flop(shape) == 4.0 * 8 * static_cast<double>(pairs) * 64);

  const Instance made = problem->make(shape, Inputs::normal, 1);
  CHECK(made.tensors[0].dims == std::vector<std::int64_t>{1, 512, 8, 64});
  CHECK(made.tensors[0].axes == "BSHD");
  CHECK(made.tensors[1].dims == std::vector<std::int64_t>{1, 512, 2, 64});
  CHECK(made.tensors[4].name == "LSE");
  CHECK(made.tensors[4].dims == std::vector<std::int64_t>{1, 8, 512});
  CHECK(made.tensors[5].name == "alibi_slopes");
  CHECK(made.tensors[5].bytes.size() == 8 * sizeof(float));
}

TEST_CASE("attention: what is wrong in a feature's settings is said") {
  CHECK(refusal(with("shape.Hkv", std::int64_t{3})) ==
        "l4.yaml:5:3: attention: 'shape.Hkv' is 3: expected a divisor of shape.H, 8");
  CHECK(refusal(with("layout", std::string("BHDS"))).find("expected BHSD or BSHD") !=
        std::string::npos);
  CHECK(refusal(with("window", std::int64_t{5})).find("a list of two: [left, right]") !=
        std::string::npos);
  CHECK(refusal(with("window.0", std::int64_t{5})).find("a list of two") != std::string::npos);
  CHECK(refusal(with("window.0", std::int64_t{-2})).find("an integer from -1") !=
        std::string::npos);
  CHECK(refusal(with("softcap", std::int64_t{-1})) ==
        "l4.yaml:5:3: attention: 'softcap' is -1: expected a number of at least 0");
  CHECK(refusal(with("alibi", std::string("yes"))).find("expected true or false") !=
        std::string::npos);
}

TEST_CASE("attention: what is promised of V's scales goes with e4m3") {
  Settings settings = with("v_scales", std::string("powers_of_two"));
  CHECK(refusal(settings) ==
        "l4.yaml:5:3: attention: 'v_scales' goes with dtype e4m3, whose elements have scales");
  for (auto& [name, value] : settings)
    if (name == "dtype") value = std::string("e4m3");
  const auto problem = make_problem("attention", settings, "");
  const Constants& shape = problem->shape();
  CHECK(problem->describe(shape) ==
        "B=1 H=8 Lq=512 Lk=512 D=64 e4m3 scale_rows=128 v_scales=powers_of_two");
  CHECK(AttentionShape::from(shape).constants() == shape);
  const auto defines = problem->defines(shape);
  CHECK(std::ranges::count(defines, std::pair<std::string, std::string>{"V_POWERS_OF_TWO", "1"}) ==
        1);
}

// The shape of a run that was stored before there were these features.
TEST_CASE("attention: a shape without the newer settings has their defaults") {
  const Constants old = {
      {"B", std::int64_t{1}},         {"H", std::int64_t{8}},
      {"Lq", std::int64_t{16}},       {"Lk", std::int64_t{16}},
      {"D", std::int64_t{64}},        {"causal", true},
      {"dtype", std::string("fp16")}, {"causal_alignment", std::string("top_left")}};
  const AttentionShape shape = AttentionShape::from(old);
  CHECK(shape.constants() == old);
  CHECK(shape.kv_heads() == 8);
  CHECK_FALSE(shape.windowed());
}

}  // namespace fa_tune::test
