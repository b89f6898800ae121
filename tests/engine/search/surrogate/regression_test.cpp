#include "engine/search/surrogate/regression.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "engine/util/random.hpp"

namespace fa_tune::test {

using namespace fa_tune::search;
using namespace fa_tune::space;

namespace {

// Two genes of 24 values. Most configs take about a hundred times as long as the best.
Space plane() {
  SpaceParts parts;
  parts.name = "plane";
  for (const char* name : {"ROWS", "COLUMNS"}) {
    Parameter parameter{name, {}, {}, {}};
    for (std::int64_t value = 0; value < 24; ++value) parameter.values.emplace_back(value);
    parts.parameters.push_back(parameter);
  }
  return Space::build(std::move(parts));
}

double log_time_of(const Genome& genome) {
  const double x = genome[0] - 11.0, y = genome[1] - 5.0;
  return 3 + std::log1p(x * x + y * y);
}

// A regression told of `count` configs, beside a list of what it was told.
struct Told {
  Space space = plane();
  Encoding encoding{space};
  Regression regression{encoding, 0, 4};
  std::vector<Site> sites = {};
  std::vector<double> values = {};

  void tell(int count, Random& random) {
    for (int i = 0; i < count; ++i) {
      const Genome genome = space.sample_genome(random);
      sites.push_back({encoding.encode(genome), {}});
      values.push_back(log_time_of(genome));
      regression.tell(sites.back(), values.back());
    }
  }

  std::vector<double> means() const {
    std::vector<double> means;
    for (const Site& site : sites) means.push_back(regression.process().predict(site).mean);
    return means;
  }
};

}  // namespace

TEST_CASE("values read as compressed keep the lowest, the order, and little of the rest") {
  Told told;
  Random random(1);
  told.tell(60, random);
  told.regression.update(80);
  const auto plain = told.means();
  told.regression.update(80, Reading::compressed);
  const auto compressed = told.means();

  const double lowest = told.regression.lowest();
  std::vector<double> sorted = told.values;
  std::ranges::sort(sorted);
  const double unit = sorted[(sorted.size() - 1) / 2] - lowest;
  for (std::size_t i = 0; i < told.sites.size(); ++i) {
    CHECK(plain[i] == doctest::Approx(told.values[i]).epsilon(0.02));
    const double expected = lowest + unit * std::log1p((told.values[i] - lowest) / unit);
    CHECK(compressed[i] == doctest::Approx(expected).epsilon(0.02));
  }
}

TEST_CASE("a reading can be changed back, and what was told meanwhile is in it") {
  Told to_and_fro, plain;
  for (Told* told : {&to_and_fro, &plain}) {
    Random random(2);
    for (int round = 0; round < 12; ++round) {
      told->tell(7, random);
      if (told == &to_and_fro) told->regression.update(20, Reading::compressed);
      told->regression.update(20);
    }
  }
  CHECK(to_and_fro.means() == plain.means());
}

TEST_CASE("with more told than are held, each value stays with its config") {
  Told told;
  Random random(3);
  told.tell(420, random);
  told.regression.update(20, Reading::compressed);
  told.tell(20, random);
  told.regression.update(20);
  CHECK(told.regression.process().size() < told.sites.size());
  const auto means = told.means();
  for (std::size_t i = 0; i < means.size(); ++i)
    CHECK(means[i] == doctest::Approx(told.values[i]).epsilon(0.05));
}

}  // namespace fa_tune::test
