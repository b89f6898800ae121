#include "engine/search/analysis/matched_pairs.hpp"

#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

#include "engine/util/random.hpp"

namespace fa_tune::test {

using namespace fa_tune::search;

namespace {

// What add() and squares() must find, by looking at every pair of configs.
std::map<Contrast, std::size_t> pairs_by_hand(const std::vector<Codes>& all) {
  std::map<Contrast, std::size_t> found;
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      std::vector<std::size_t> different;
      for (std::size_t gene = 0; gene < all[i].size(); ++gene)
        if (all[i][gene] != all[j][gene]) different.push_back(gene);
      if (different.size() != 1) continue;
      const std::size_t gene = different.front();
      const auto [low, high] = std::minmax(all[i][gene], all[j][gene]);
      if (high != kAbsent) ++found[{gene, low, high}];
    }
  return found;
}

}  // namespace

TEST_CASE("every pair that differs in one gene is found, once") {
  Random random(3);
  std::vector<Codes> all;
  MatchedConfigs matched;
  for (std::uint16_t a = 0; a < 4; ++a)
    for (std::uint16_t b = 0; b < 3; ++b)
      for (std::uint16_t c = 0; c < 3; ++c) {
        if (random.below(3) == 0) continue;
        // The last gene exists for some alone.
        all.push_back({a, b, c == 2 ? kAbsent : c});
        matched.add(all.back(), 0);
      }
  const auto expected = pairs_by_hand(all);
  CHECK(expected.size() >= 8);
  REQUIRE(matched.pairs().size() == expected.size());
  for (const auto& [contrast, differences] : matched.pairs())
    CHECK(differences.size() == expected.at(contrast));
}

TEST_CASE("pairs and squares have the right sign, in whatever order their configs come") {
  const auto figure = [](const Codes& codes) {
    return 1.0 * codes[0] + 10.0 * codes[1] + 100.0 * codes[0] * codes[1];
  };
  std::vector<Codes> corners = {{0, 0, 5}, {0, 1, 5}, {1, 0, 5}, {1, 1, 5}};
  do {
    MatchedConfigs matched;
    for (const Codes& codes : corners) matched.add(codes, figure(codes));
    REQUIRE(matched.squares().size() == 1);
    const auto& [contrasts, differences] = *matched.squares().begin();
    CHECK(contrasts.first == Contrast{0, 0, 1});
    CHECK(contrasts.second == Contrast{1, 0, 1});
    REQUIRE(differences.size() == 1);
    CHECK(differences.front() == doctest::Approx(100));
    double sum = 0;
    for (const double step : matched.pairs().at({0, 0, 1})) sum += step;
    CHECK(sum == doctest::Approx(1 + 101));
  } while (std::next_permutation(corners.begin(), corners.end()));
}

TEST_CASE("squares may be asked for at any time") {
  MatchedConfigs asked;
  MatchedConfigs unasked;
  for (std::uint16_t a = 0; a < 3; ++a)
    for (std::uint16_t b = 0; b < 3; ++b)
      for (std::uint16_t c = 0; c < 2; ++c) {
        const double figure = a * b + c;
        asked.add({a, b, c}, figure);
        unasked.add({a, b, c}, figure);
        CHECK(asked.squares().size() <= 27);
      }
  CHECK(asked.squares() == unasked.squares());
  std::size_t squares = 0;
  for (const auto& [contrasts, differences] : asked.squares()) squares += differences.size();
  // 3 x 3 pairs of steps at 2 values of c, and twice 3 x 1 at 3 values of the third gene.
  CHECK(squares == 9 * 2 + 3 * 3 + 3 * 3);
}

}  // namespace fa_tune::test
