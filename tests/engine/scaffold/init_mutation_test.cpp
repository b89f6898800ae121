#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "engine/util/random.hpp"
#include "tests/fuzz/corpus.hpp"
#include "tests/fuzz/mutate.hpp"
#include "tests/fuzz/try_init.hpp"

// A short, repeatable version of `tools/fuzz 600 init`: texts near to CUDA sources, whose brackets
// do not close and whose macros name themselves, give a space or a clear error.

namespace fa_tune::test {

namespace {

std::string mutated_source(const std::vector<std::string>& texts, Random& random) {
  constexpr const char* hostile[] = {"(",
                                     ")",
                                     "[",
                                     "]",
                                     "{",
                                     "}",
                                     "<",
                                     ">",
                                     "\"",
                                     "'",
                                     "/*",
                                     "//",
                                     "#define A A A\n",
                                     "#if 0\n",
                                     "#endif\n",
                                     "\\\n",
                                     "*",
                                     "&",
                                     ";",
                                     "threadIdx.x",
                                     "blockIdx.",
                                     "template <",
                                     "__global__",
                                     "= {",
                                     "9223372036854775807",
                                     "<<",
                                     " / 0",
                                     "? :",
                                     "\xff",
                                     "\n#ifndef B\n",
                                     "__shared__",
                                     "reinterpret_cast<",
                                     "for (;;)",
                                     "atomicAdd(&"};
  std::string text = texts[random.below(texts.size())];
  for (std::uint64_t left = 1 + random.below(3); left > 0 && !text.empty(); --left) {
    test::mutate(text, random, hostile, 12, [&](std::size_t at) {
      const std::size_t from = random.below(text.size());
      text.insert(at, text.substr(from, 1 + random.below(60)));
    });
  }
  return text;
}

}  // namespace

TEST_CASE("thousands of texts that are nearly kernels give a space that is YAML, or an error") {
  const std::vector<std::string> texts = test::corpus("init");
  REQUIRE(texts.size() == 3);
  for (const std::string& text : texts) CHECK(test::try_init(text) == "written");
  Random random(5);
  std::multiset<std::string> outcomes;
  for (int i = 0; i < 2'000; ++i) outcomes.insert(test::try_init(mutated_source(texts, random)));
  CHECK(outcomes.count("written") > 500);
  CHECK(outcomes.count("refused") > 200);
  MESSAGE(outcomes.count("written") << " written, " << outcomes.count("refused") << " refused");
}

TEST_CASE("texts of nothing but beginnings do not take long") {
  for (const char* piece : {"(", "{", "template<", "__global__ void k(", "a?", "x[", "-", "for (",
                            "#if 1\n", "#define A A\nA ", "if (i < ", "((float4*)x)["}) {
    std::string text = "__global__ void k(float* x, int n) { int i = threadIdx.x; ";
    for (int i = 0; i < 5'000; ++i) text += piece;
    CHECK_NOTHROW((void)test::try_init(text));
  }
  std::string grows = "#define A0 x x\n";
  for (int i = 1; i < 60; ++i)
    grows += "#define A" + std::to_string(i) + " A" + std::to_string(i - 1) + " A" +
             std::to_string(i - 1) + "\n";
  CHECK_NOTHROW((void)test::try_init(grows + "__global__ void k(float* x) { A59; }"));
}

}  // namespace fa_tune::test
