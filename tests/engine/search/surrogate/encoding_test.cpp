#include "engine/search/surrogate/encoding.hpp"

#include <doctest/doctest.h>

namespace fa_tune::test {

using namespace fa_tune::expression;
using namespace fa_tune::search;
using namespace fa_tune::space;

namespace {

Space mixed() {
  SpaceParts parts;
  parts.name = "mixed";
  parts.parameters.push_back({"LAYOUT", {std::string("plain"), std::string("xor")}, {}, {}});
  parts.parameters.push_back(
      {"BLOCK_M", {std::int64_t{16}, std::int64_t{32}, std::int64_t{64}}, {}, {}});
  parts.parameters.push_back(
      {"BLOCK_N", {std::int64_t{8}, std::int64_t{16}, std::int64_t{32}, std::int64_t{64}}, {}, {}});
  parts.parameters.push_back({"FIXED", {std::int64_t{1}}, {}, {}});
  parts.parameters.push_back({"STAGES",
                              {std::int64_t{0}, std::int64_t{1}, std::int64_t{2}},
                              Expression::parse("LAYOUT == 'xor'"),
                              {}});
  return Space::build(std::move(parts));
}

}  // namespace

TEST_CASE("a dimension for each gene that can differ, and for products of numbers") {
  const Encoding encoding(mixed());
  std::vector<std::string> names;
  for (const auto& dimension : encoding.dimensions()) names.push_back(dimension.name);
  // STAGES has a 0, whose logarithm there is not.
  CHECK(names ==
        std::vector<std::string>{"LAYOUT", "BLOCK_M", "BLOCK_N", "STAGES", "BLOCK_M*BLOCK_N"});
  CHECK_FALSE(encoding.dimensions()[0].ordered);
  CHECK(encoding.dimensions()[1].ordered);
  CHECK(encoding.dimensions()[4].product);
}

TEST_CASE("coordinates go from 0 to 1; equal products meet; what is absent is unlike all values") {
  const Encoding encoding(mixed());
  const Point low = encoding.encode({0, 0, 0, 0, kInactiveGene});
  const Point high = encoding.encode({1, 2, 3, 0, 2});
  for (const std::size_t d : {0, 1, 2, 4}) {
    CHECK(low[d] == 0.0F);
    CHECK(high[d] == 1.0F);
  }
  CHECK(high[3] == 1.0F);
  CHECK(low[3] < 0.0F);
  const Point one = encoding.encode({0, 0, 2, 0, kInactiveGene});    // 16 x 32
  const Point other = encoding.encode({0, 1, 1, 0, kInactiveGene});  // 32 x 16
  CHECK(one[4] == doctest::Approx(other[4]));
}

}  // namespace fa_tune::test
