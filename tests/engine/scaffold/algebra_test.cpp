#include "engine/scaffold/algebra.hpp"

#include <doctest/doctest.h>

namespace fa_tune::test {

using namespace fa_tune::scaffold;

namespace {

std::string text(const Algebra& algebra, const Bound& bound) {
  return bound ? algebra.text(*bound, [](const std::string& name) { return name; }) : "?";
}

}  // namespace

TEST_CASE("bounds are sums of products") {
  Algebra algebra;
  const Bound n = Polynomial("n"), m = Polynomial("m"), one = Polynomial(1);
  // (m - 1) * n + (n - 1) + 1
  const Bound last =
      algebra.sum(algebra.product(algebra.sum(m, one, -1), n), algebra.sum(n, one, -1));
  CHECK(text(algebra, algebra.sum(last, one)) == "m * n");
  CHECK(text(algebra, algebra.sum(n, n, -1)) == "0");
  CHECK(text(algebra, algebra.product(Bound(), n)) == "?");
  CHECK(text(algebra, algebra.product(Polynomial(INT64_MAX), Polynomial(3))) == "?");
  CHECK(algebra.factors(*algebra.sum(last, one), [](const auto& name) { return name; }) ==
        std::vector<std::string>{"m", "n"});
}

TEST_CASE("a quotient times its divisor is what was divided") {
  Algebra algebra;
  const Bound n = Polynomial("n"), tile = Polynomial("TILE"), one = Polynomial(1);
  const Bound tiles = algebra.quotient(n, tile);
  CHECK(text(algebra, tiles) == "(n / TILE)");
  CHECK(text(algebra, algebra.product(tiles, tile)) == "n");
  CHECK(text(algebra, algebra.quotient(algebra.product(n, tile), tile)) == "n");
  // (n + TILE - 1) / TILE
  const Bound up = algebra.quotient(algebra.sum(algebra.sum(n, tile), one, -1), tile);
  CHECK(text(algebra, up) == "ceil_div(n, TILE)");
  CHECK(text(algebra, algebra.product(up, tile)) == "n");
  CHECK(text(algebra, algebra.quotient(Polynomial(100), Polynomial(8))) == "12");
  CHECK(text(algebra, algebra.quotient(n, Polynomial())) == "?");
}

}  // namespace fa_tune::test
