#include "engine/search/surrogate/candidate_pool.hpp"

#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include "engine/util/distributions.hpp"
#include "engine/util/helper_threads.hpp"
#include "engine/util/random.hpp"

namespace fa_tune::test {

using namespace fa_tune::search;
using namespace fa_tune::space;

namespace {

// The definition, summed: max(0, best - value) over the distribution of the value.
double summed(double best, double mean, double deviation, int freedom) {
  constexpr int kSlices = 200'000;
  constexpr double kWidest = 400;  // deviations
  double sum = 0;
  for (int slice = 0; slice < kSlices; ++slice) {
    // Narrower where the density is: t = s^3.
    const double s = (2 * (slice + 0.5) / kSlices - 1) * std::cbrt(kWidest);
    const double t = s * s * s;
    const double width = 3 * s * s * (2 * std::cbrt(kWidest) / kSlices);
    const double gain = best - (mean + deviation * t);
    if (gain > 0) sum += gain * student_at(t, freedom).density * width;
  }
  return sum;
}

Space steps() {
  SpaceParts parts;
  parts.name = "steps";
  for (const char* name : {"A", "B", "C", "D", "E"}) {
    Parameter parameter{name, {}, {}, {}};
    for (std::int64_t value = 1; value <= 7; ++value) parameter.values.emplace_back(value);
    parts.parameters.push_back(parameter);
  }
  return Space::build(std::move(parts));
}

}  // namespace

TEST_CASE("the expected improvement is the mean of how far a value is below the best") {
  for (const int freedom : {3, 4, 11, 40})
    for (const double mean : {-1.0, 0.0, 0.5, 2.0})
      CHECK(expected_improvement(0.25, mean, 0.6, freedom) ==
            doctest::Approx(summed(0.25, mean, 0.6, freedom)).epsilon(1e-3));
}

TEST_CASE("from many degrees of freedom on the expected improvement is that of the normal one") {
  const double few = expected_improvement(0, 1, 0.5, 59);
  const double many = expected_improvement(0, 1, 0.5, 60);
  CHECK(many == expected_improvement(0, 1, 0.5, 1'000'000));
  CHECK(few > many);
  CHECK(few < 1.3 * many);
}

TEST_CASE("with few values told what is expected to be bad keeps some promise") {
  // A little worse and well known, against much worse and hardly known.
  const auto known = [](int freedom) { return expected_improvement(0, 0.1, 0.05, freedom); };
  const auto unknown = [](int freedom) { return expected_improvement(0, 1, 0.25, freedom); };
  CHECK(unknown(3) > known(3));
  CHECK(unknown(60) < 0.01 * known(60));
}

TEST_CASE("a tournament knows the first of the largest after every change") {
  Random random(3);
  Tournament tournament;
  std::vector<double> numbers;
  for (int step = 0; step < 2000; ++step) {
    const auto number = static_cast<double>(random.below(9));  // many are equal
    const std::uint64_t what = random.below(5);
    if (numbers.empty() || what < 2) {
      tournament.push_back(number);
      numbers.push_back(number);
    } else if (what == 2 && numbers.size() > 1) {
      tournament.pop_back();
      numbers.pop_back();
    } else {
      const std::size_t place = random.below(numbers.size());
      tournament.set(place, number);
      numbers[place] = number;
    }
    const auto largest = std::ranges::max_element(numbers);
    REQUIRE(tournament.size() == numbers.size());
    REQUIRE(tournament.largest() == static_cast<std::size_t>(largest - numbers.begin()));
    if (numbers.size() < 2) continue;
    double second = -1;
    tournament.for_each_met([&](std::size_t place) {
      CHECK(place != tournament.largest());
      second = std::max(second, tournament[place]);
    });
    *largest = -1;
    const double expected = std::ranges::max(numbers);
    *largest = tournament[tournament.largest()];
    REQUIRE(second == expected);
  }
}

TEST_CASE("the pool gives the most promising one of all, as if each were computed exactly") {
  const Space space = steps();
  const Archive archive(space);
  Surrogate surrogate(space, {}, true, 1);
  Random random(9);
  for (int trial = 0; trial < 60; ++trial) {
    const Genome genome = space.sample_genome(random);
    const double time = 3.0 + std::abs(genome[0] - 4.0) + 0.5 * genome[1] + 0.1 * genome[2];
    surrogate.tell(genome, genome[3] == 6 ? std::nullopt : std::optional(time));
  }
  surrogate.update();
  HelperThreads helpers(3);
  CandidatePool pool(surrogate, archive, helpers, surrogate.best());
  std::vector<Genome> all;
  for (int i = 0; i < 200; ++i) {
    const Genome genome = space.sample_genome(random);
    if (std::ranges::find(all, genome) == all.end()) all.push_back(genome);
    pool.add({genome, "random", {}});
  }
  const auto promise = [&](const Genome& genome) {
    const Site site = surrogate.site(genome);
    auto posterior = surrogate.times().predict(site);
    while (!surrogate.times().exact(posterior)) surrogate.times().refine(site, posterior);
    return surrogate.chance(site) * expected_improvement(surrogate.best(), posterior.mean,
                                                         std::sqrt(posterior.variance),
                                                         surrogate.times().freedom());
  };
  // Each one taken is believed, which changes what the others promise.
  while (!all.empty()) {
    std::vector<double> promises;
    for (const Genome& genome : all) promises.push_back(promise(genome));
    const Genome best = pool.best().genome;
    const auto place = std::ranges::find(all, best);
    REQUIRE(place != all.end());
    // What promises next to nothing is rounding.
    CHECK(promises[static_cast<std::size_t>(place - all.begin())] >=
          (1 - 1e-6) * std::ranges::max(promises) - 1e-12);
    CHECK(pool.take_best().genome == best);
    all.erase(place);
  }
  CHECK(pool.empty());
}

}  // namespace fa_tune::test
