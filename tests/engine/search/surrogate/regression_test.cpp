#include "engine/search/surrogate/regression.hpp"

#include <cmath>
#include <functional>

#include <doctest/doctest.h>

#include "engine/util/random.hpp"

namespace fa_tune::test {

using namespace fa_tune::search;
using namespace fa_tune::space;

namespace {

Space three_sizes() {
  SpaceParts parts;
  parts.name = "sizes";
  for (const char* name : {"A", "B", "C"}) {
    Parameter parameter{name, {}, {}, {}};
    for (std::int64_t value = 1; value <= 12; ++value) parameter.values.emplace_back(value);
    parts.parameters.push_back(parameter);
  }
  return Space::build(std::move(parts));
}

// Smooth, from 0 to 1.
double bowl(const Genome& genome) {
  const double a = genome[0] - 3.0, b = genome[1] - 8.0, c = genome[2] - 5.0;
  return (a * a + b * b + c * c) / 194;
}

// What a regression says of configs that it was not told, in root mean squares of how far it is
// off from the bowl, after that number of trials whose values are `slow` of the bowl's.
struct Learned {
  Reading reading;
  double off = 0;
};

Learned learn(bool choose_reading, int trials, const std::function<double(double)>& slow) {
  const Space space = three_sizes();
  const Encoding encoding(space);
  Random random(3);
  Regression regression(encoding, 0, 5, choose_reading);
  for (int trial = 0; trial < trials; ++trial) {
    const Genome genome = space.sample_genome(random);
    regression.tell({encoding.encode(genome), {}}, slow(bowl(genome)));
  }
  regression.update();
  Learned learned{regression.reading(), 0};
  constexpr int kAsked = 200;
  for (int i = 0; i < kAsked; ++i) {
    const Genome genome = space.sample_genome(random);
    const double said = regression.process().predict({encoding.encode(genome), {}}).mean;
    const double truth = learned.reading(slow(bowl(genome)), regression.lowest());
    learned.off += (said - truth) * (said - truth) / kAsked;
  }
  learned.off = std::sqrt(learned.off);
  return learned;
}

}  // namespace

TEST_CASE("a reading keeps order and what is near the lowest, and knows its slope") {
  const Reading told, read{0.25};
  CHECK(told(7.5, 2) == 7.5);
  CHECK(told.log_slope(7.5, 2) == 0);
  CHECK(read(2, 2) == 2);
  CHECK(read(2.01, 2) == doctest::Approx(2.01).epsilon(1e-3));
  CHECK(read(9, 2) > read(8, 2));
  CHECK(read(9, 2) - read(8, 2) < 0.05);
  for (const double value : {2.0, 2.3, 5.0}) {
    const double slope = (read(value + 1e-6, 2) - read(value, 2)) / 1e-6;
    CHECK(read.log_slope(value, 2) == doctest::Approx(std::log(slope)).epsilon(1e-4));
  }
}

TEST_CASE("values are read as is likeliest, once there are enough") {
  // Smooth in the smallest unit, and what that unit would make of something smooth.
  const auto steep = [](double value) { return 0.25 * std::expm1(value / 0.25); };
  const auto flat = [](double value) { return 0.25 * std::log1p(value / 0.25); };
  CHECK_FALSE(learn(true, 40, steep).reading.unit);
  CHECK_FALSE(learn(false, 80, steep).reading.unit);
  CHECK_FALSE(learn(true, 80, flat).reading.unit);
  const Learned read = learn(true, 80, steep);
  REQUIRE(read.reading.unit);
  CHECK(*read.reading.unit <= 0.5);
  CHECK(read.off < 0.05);
}

}  // namespace fa_tune::test
