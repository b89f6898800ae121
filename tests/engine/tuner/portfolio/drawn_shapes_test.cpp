#include "engine/tuner/portfolio/drawn_shapes.hpp"

#include <algorithm>

#include <doctest/doctest.h>

namespace fa_tune::test {

using namespace fa_tune::tuner;

namespace {

Constants shape(std::int64_t B, std::int64_t Lq, std::int64_t Lk) {
  return {{"B", B}, {"Lq", Lq}, {"Lk", Lk}, {"D", std::int64_t{64}}};
}

}  // namespace

TEST_CASE(
    "drawn shapes: within the ranges, equal sizes stay equal, none is larger or twice there") {
  const std::vector<Constants> given = {shape(1, 4096, 4096), shape(16, 256, 256),
                                        shape(2, 64, 8192)};
  const std::vector<DrawnShape> drawn = drawn_shapes(given, {"B", "Lq", "Lk"}, 200, 5);
  REQUIRE(drawn.size() == 200);
  int unequal = 0, small = 0;
  std::vector<Constants> seen;
  for (const auto& [like, sizes] : drawn) {
    const std::int64_t B = integer(sizes, "B"), Lq = integer(sizes, "Lq"),
                       Lk = integer(sizes, "Lk");
    CHECK(sizes.size() == 3);
    CHECK((1 <= B && B <= 16));
    CHECK((64 <= Lq && Lq <= 4096));
    CHECK((256 <= Lk && Lk <= 8192));
    CHECK(B * Lq * Lk <= 4096 * 4096);
    if (like < 2 && Lq >= 256) unequal += Lq != Lk ? 1 : 0;
    small += B <= 4 ? 1 : 0;
    CHECK(std::ranges::find(seen, sizes) == seen.end());
    seen.push_back(sizes);
  }
  CHECK(unequal == 0);
  CHECK(small > 80);  // of 1 to 16 half of the powers of two, and more of what is not too large
  CHECK(small < 180);
}

TEST_CASE("drawn shapes: by the seed alone, and no more than there are") {
  const std::vector<Constants> given = {shape(1, 2, 2), shape(3, 2, 2)};
  const auto first = drawn_shapes(given, {"B"}, 5, 1);
  REQUIRE(first.size() == 1);
  CHECK(integer(first[0].sizes, "B") == 2);
  const std::vector<Constants> wide = {shape(1, 64, 64), shape(64, 4096, 4096)};
  const auto some = drawn_shapes(wide, {"B", "Lq"}, 9, 1),
             same = drawn_shapes(wide, {"B", "Lq"}, 9, 1);
  const auto other = drawn_shapes(wide, {"B", "Lq"}, 9, 2);
  const auto equal = [](const auto& a, const auto& b) {
    return a.like == b.like && a.sizes == b.sizes;
  };
  CHECK(std::ranges::equal(some, same, equal));
  CHECK(!std::ranges::equal(some, other, equal));
}

}  // namespace fa_tune::test
