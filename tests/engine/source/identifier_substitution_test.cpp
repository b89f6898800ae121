#include "engine/source/identifier_substitution.hpp"

#include <doctest/doctest.h>

namespace fa_tune::test {

using namespace fa_tune::source;

TEST_CASE("source words: words are whole, and numbers are none") {
  const auto shout = [](const std::string& word) { return "<" + word + ">"; };
  CHECK(with_words("a+b_1*2e5-0x1F/_c", shout) == "<a>+<b_1>*2e5-0x1F/<_c>");
  CHECK(with_words("", shout).empty());
  CHECK(with_words("12 ", shout) == "12 ");
}

TEST_CASE("source words: the greatest and the least of a parameter") {
  const std::string text = "max(a) + min( bs_x )*maximum(c) + max(1, d) + max (e";
  const auto first = next_extreme(text, 0);
  REQUIRE(first);
  CHECK(first->most);
  CHECK(first->name == "a");
  CHECK(text.substr(first->begin, first->end - first->begin) == "max(a)");
  const auto second = next_extreme(text, first->end);
  REQUIRE(second);
  CHECK_FALSE(second->most);
  CHECK(second->name == "bs_x");
  CHECK(text.substr(second->begin, second->end - second->begin) == "min( bs_x )");
  CHECK_FALSE(next_extreme(text, second->end));
}

TEST_CASE("source words: the kernels of a source") {
  using Names = std::vector<std::string>;
  CHECK(global_functions("__global__ void k(int n) { f(n); }") == Names{"k"});
  CHECK(global_functions("extern \"C\" __global__ void __launch_bounds__(256, 2)\nk1 (float* a);\n"
                         "template <int n> __global__ __cluster_dims__(2) void k2(){}") ==
        Names{"k1", "k2"});
  CHECK(global_functions("static __device__ int f(int);").empty());
  CHECK(global_functions("__global__").empty());
  CHECK(global_functions("__global__ void k; int g(int);").empty());
  // What would be too deep or too long for a backtracking search.
  const std::string parentheses(2'000'000, '(');
  CHECK(global_functions("__global__ " + parentheses).empty());
  CHECK(global_functions("__global__ " + std::string(2'000'000, 'a')).empty());
}

}  // namespace fa_tune::test
