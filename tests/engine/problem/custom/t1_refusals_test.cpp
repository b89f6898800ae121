// T1 files that cannot be run: what is said of them.

#include <doctest/doctest.h>

#include "tests/engine/problem/custom/t1_place.hpp"
#include "tests/fuzz/mutate.hpp"

namespace fa_tune::test {

TEST_CASE("T1: thousands of files that are nearly right give a space or a clear error") {
  constexpr const char* hostile[] = {"\"",
                                     "{",
                                     "]",
                                     "null",
                                     "1e300",
                                     "-1",
                                     "[]",
                                     "NaN",
                                     "block_size_x",
                                     "ProblemSize[0]",
                                     "ProblemSize[9]",
                                     "max(radius)",
                                     "max(in)",
                                     "*",
                                     "//",
                                     "Constant",
                                     "double",
                                     "\\u0000",
                                     "\xff",
                                     ",",
                                     "0"};
  const T1Place place;
  Random random(3);
  int right = 0, refused = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string text = kT1;
    for (std::uint64_t k = 1 + random.below(3); k > 0; --k)
      test::mutate(text, random, hostile, 8, [&](std::size_t at) {
        text.insert(at, text.substr(random.below(text.size()), 12));
      });
    try {
      space::parse_space_file(place.space_of(text), "window.json");
      ++right;
    } catch (const UserError&) {
      ++refused;
    }
  }
  CHECK(right > 100);
  CHECK(refused > 1000);
}

TEST_CASE("T1: what cannot be run is told with its place") {
  const T1Place place;
  const auto says = [&](const test::Replacements& changes, const char* words) {
    const std::string said = place.refused(changes);
    CHECK_MESSAGE(test::has(said, words), said);
  };
  says({{R"("CUDA")", R"("OpenCL")"}}, "window.json:10:15: Language: expected CUDA");
  says({{R"("KernelFile": "window.cu")", R"("KernelFile": "none.cu")"}}, "there is no file");
  says({{R"("Type": "int", "MemoryType")", R"("Type": "int17", "MemoryType")"}},
       "expected a type of C or NumPy");
  says({{R"("FillValue": 1000}]}})", R"("FillValue": 1e300}]}})"}}, "a number that i32 can hold");
  says({{R"("Size": 1000)", R"("Size": "block_size_x")"}}, "must not depend on its config");
  says({{R"("FillType": "Random")", R"("FillType": "BinaryRaw")"}},
       "Random, Constant or Generator");
  says({{R"("ProblemSize": [1000])", R"("ProblemSize": ["block_size_x"])"}}, "window.json:");
  place.write("plain.cu", std::string(kPlainWindow) + "__global__ void other() {}");
  says({}, "expected one __global__ function, or one called window");
}

}  // namespace fa_tune::test
