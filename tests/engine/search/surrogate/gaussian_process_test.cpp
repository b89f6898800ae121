#include "engine/search/surrogate/gaussian_process.hpp"

#include <cmath>

#include <doctest/doctest.h>

#include "engine/search/surrogate/regression.hpp"
#include "engine/util/random.hpp"

namespace fa_tune::test {

using namespace fa_tune::search;
using namespace fa_tune::space;

namespace {

Space grid(std::int64_t genes, std::int64_t values) {
  SpaceParts parts;
  parts.name = "grid";
  for (std::int64_t gene = 0; gene < genes; ++gene) {
    Parameter parameter{"P" + std::to_string(gene), {}, {}, {}};
    for (std::int64_t value = 1; value <= values; ++value) parameter.values.emplace_back(value);
    parts.parameters.push_back(parameter);
  }
  return Space::build(std::move(parts));
}

std::vector<Site> sites_of(const Space& space, const Encoding& encoding, std::size_t count,
                           Random& random) {
  std::vector<Site> sites;
  for (std::size_t i = 0; i < count; ++i)
    sites.push_back({encoding.encode(space.sample_genome(random)), {}});
  return sites;
}

// The textbook's formulas, by elimination in long double: nothing shared with what is tested.
struct Textbook {
  const Encoding& encoding;
  KernelWeights weights;

  long double kernel(const Site& a, const Site& b) const {
    long double squares = 0, alone = 0;
    int genes = 0;
    for (std::size_t d = 0; d < a.point.size(); ++d) {
      const long double apart = static_cast<long double>(a.point[d]) - b.point[d];
      long double part = 0;
      if (weights.slope[d] > KernelWeights::kOff)
        part += std::exp(static_cast<long double>(weights.slope[d])) * apart * apart;
      if (weights.step[d] > KernelWeights::kOff && a.point[d] != b.point[d])
        part += std::exp(static_cast<long double>(weights.step[d]));
      squares += part;
      if (encoding.dimensions()[d].product) continue;
      alone += 1 / (1 + part);
      ++genes;
    }
    const long double r = std::sqrt(5 * squares);
    constexpr long double share = KernelWeights::kAlone;
    long double sum = (1 - share) * (1 + r + r * r / 3) * std::exp(-r) + share * alone / genes;
    for (std::size_t j = 0; j < weights.trust.size(); ++j)
      sum += std::exp(static_cast<long double>(weights.trust[j])) * a.earlier[j] * b.earlier[j];
    return sum;
  }

  // inverse(K) right
  std::vector<long double> solve(const std::vector<Site>& sites,
                                 std::vector<long double> right) const {
    const std::size_t n = sites.size();
    std::vector<std::vector<long double>> k(n, std::vector<long double>(n));
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        k[i][j] = kernel(sites[i], sites[j]) +
                  (i == j ? std::exp(static_cast<long double>(weights.noise)) + 1e-6L : 0.0L);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t row = i + 1; row < n; ++row) {
        const long double factor = k[row][i] / k[i][i];
        for (std::size_t j = i; j < n; ++j) k[row][j] -= factor * k[i][j];
        right[row] -= factor * right[i];
      }
    for (std::size_t i = n; i-- > 0;) {
      for (std::size_t j = i + 1; j < n; ++j) right[i] -= k[i][j] * right[j];
      right[i] /= k[i][i];
    }
    return right;
  }
};

}  // namespace

TEST_CASE("means and variances are those of the textbook") {
  const Space space = grid(4, 6);
  const Encoding encoding(space);
  Random random(7);
  auto sites = sites_of(space, encoding, 30, random);
  for (Site& site : sites) site.earlier = {static_cast<float>(random.normal())};
  GaussianProcess process(encoding, 1);
  KernelWeights weights = initial_weights(encoding, 1);
  weights.noise = -4;
  process.set_weights(weights);
  std::vector<long double> values;
  for (const Site& site : sites) {
    values.push_back(random.normal());
    process.append(site, static_cast<double>(values.back()));
  }
  process.solve();

  const Textbook textbook{encoding, weights};
  const auto by_ones = textbook.solve(sites, std::vector<long double>(sites.size(), 1));
  const auto by_values = textbook.solve(sites, values);
  long double ones = 0, sum = 0;
  for (std::size_t i = 0; i < sites.size(); ++i) {
    ones += by_ones[i];
    sum += by_values[i];
  }
  const long double mean = sum / ones;
  std::vector<long double> centered;
  for (const long double value : values) centered.push_back(value - mean);
  const auto dual = textbook.solve(sites, centered);
  long double scale = 0;
  for (std::size_t i = 0; i < sites.size(); ++i) scale += centered[i] * dual[i];
  scale /= static_cast<long double>(sites.size());

  for (int probe = 0; probe < 20; ++probe) {
    Site site{encoding.encode(space.sample_genome(random)), {static_cast<float>(random.normal())}};
    std::vector<long double> covariance;
    for (const Site& other : sites) covariance.push_back(textbook.kernel(site, other));
    const auto explained = textbook.solve(sites, covariance);
    long double expected_mean = mean, expected_variance = textbook.kernel(site, site);
    for (std::size_t i = 0; i < sites.size(); ++i) {
      expected_mean += covariance[i] * dual[i];
      expected_variance -= covariance[i] * explained[i];
    }
    auto posterior = process.predict(site);
    CHECK(posterior.mean == doctest::Approx(static_cast<double>(expected_mean)).epsilon(1e-4));
    const double bound = posterior.variance;
    while (!process.exact(posterior)) process.refine(site, posterior);
    CHECK(posterior.variance ==
          doctest::Approx(static_cast<double>(expected_variance * scale)).epsilon(1e-3));
    CHECK(bound >= posterior.variance * (1 - 1e-6));
  }
}

TEST_CASE("a belief leaves means as they are, lowers variances, and is forgotten") {
  const Space space = grid(3, 8);
  const Encoding encoding(space);
  Random random(3);
  GaussianProcess process(encoding, 0);
  process.set_weights(initial_weights(encoding, 0));
  for (const Site& site : sites_of(space, encoding, 20, random))
    process.append(site, random.normal());
  process.solve();
  const auto ask = [&](const Site& site) {
    auto posterior = process.predict(site);
    while (!process.exact(posterior)) process.refine(site, posterior);
    return posterior;
  };
  const auto probes = sites_of(space, encoding, 10, random);
  std::vector<GaussianProcess::Posterior> before;
  for (const Site& site : probes) before.push_back(ask(site));
  process.believe(probes[0]);
  for (std::size_t i = 0; i < probes.size(); ++i) {
    const auto now = ask(probes[i]);
    CHECK(now.mean == before[i].mean);
    CHECK(now.variance <= before[i].variance * (1 + 1e-9));
    // What was asked before is brought up to date rather than asked again.
    auto extended = before[i];
    CHECK_FALSE(process.exact(extended));
    while (!process.exact(extended)) process.refine(probes[i], extended);
    CHECK(extended.variance == now.variance);
  }
  CHECK(ask(probes[0]).variance < 0.5 * before[0].variance);
  process.forget_beliefs();
  for (std::size_t i = 0; i < probes.size(); ++i)
    CHECK(ask(probes[i]).variance == before[i].variance);
}

TEST_CASE("what was believed and has become known says what it says if it was never believed") {
  const Space space = grid(3, 8);
  const Encoding encoding(space);
  Random random(5);
  const auto sites = sites_of(space, encoding, 80, random);
  const auto probes = sites_of(space, encoding, 10, random);
  const auto value = [&](std::size_t i) { return std::sin(static_cast<double>(i)); };
  // The first half is known. Of the second some were believed in their order, some in another, and
  // some never became known.
  const auto told = [&](const std::vector<std::size_t>& believed) {
    GaussianProcess process(encoding, 0);
    process.set_weights(initial_weights(encoding, 0));
    for (std::size_t i = 0; i < 40; ++i) process.append(sites[i], value(i));
    process.solve();
    for (int round = 0; round < 2; ++round) {
      process.forget_beliefs();
      for (const std::size_t i : believed) process.believe(sites[i]);
    }
    process.forget_beliefs();
    for (std::size_t i = 40; i < 60; ++i) process.append(sites[i], value(i));
    process.solve();
    std::vector<std::pair<double, double>> said;
    for (const Site& probe : probes) {
      auto posterior = process.predict(probe);
      // Never below what it is in the end, and never up again.
      for (double before = posterior.variance; !process.exact(posterior);) {
        process.refine(probe, posterior);
        CHECK(posterior.variance <= before * (1 + 1e-9));
        before = posterior.variance;
      }
      said.emplace_back(posterior.mean, posterior.variance);
    }
    return said;
  };
  const auto never = told({});
  CHECK(told({40, 41, 42, 43, 44, 45}) == never);
  CHECK(told({40, 41, 70, 42, 43}) == never);
  CHECK(told({45, 44, 43}) == never);
  std::vector<std::size_t> more;
  for (std::size_t i = 40; i < 80; ++i) more.push_back(i);
  CHECK(told(more) == never);
}

TEST_CASE("learning finds which genes matter, and predicts what it has not seen") {
  const Space space = grid(5, 8);
  const Encoding encoding(space);
  Random random(11);
  // Genes 0 and 1 decide, by their product; the others do nothing.
  const auto truth = [](const Genome& genome) {
    return std::abs(std::log((genome[0] + 1.0) * (genome[1] + 1.0)) - 2.5);
  };
  std::vector<Site> sites;
  std::vector<double> values;
  for (int i = 0; i < 60; ++i) {
    const Genome genome = space.sample_genome(random);
    sites.push_back({encoding.encode(genome), {}});
    values.push_back(truth(genome));
  }
  GaussianProcess process(encoding, 0);
  process.set_weights(initial_weights(encoding, 0));
  const auto error = [&] {
    double squares = 0;
    Random probe(5);
    for (int i = 0; i < 200; ++i) {
      const Genome genome = space.sample_genome(probe);
      const double off = process.predict({encoding.encode(genome), {}}).mean - truth(genome);
      squares += off * off;
    }
    return std::sqrt(squares / 200);
  };
  learn_weights(process, encoding, sites, values, 0, random);
  const double unlearned = error();
  learn_weights(process, encoding, sites, values, 300, random);
  CHECK(error() < 0.5 * unlearned);
  CHECK(error() < 0.1);
  for (std::size_t gene = 2; gene < 5; ++gene)
    CHECK(process.weights().step[gene] + process.weights().slope[gene] <
          process.weights().step[0] + process.weights().slope[0]);
}

TEST_CASE("degrees of freedom are half of the values, and never too few for a variance") {
  const Space space = grid(3, 8);
  const Encoding encoding(space);
  Random random(4);
  GaussianProcess process(encoding, 0);
  process.set_weights(initial_weights(encoding, 0));
  CHECK(process.freedom() == 3);
  for (const Site& site : sites_of(space, encoding, 30, random))
    process.append(site, random.normal());
  process.solve();
  CHECK(process.freedom() == 15);
  process.believe(sites_of(space, encoding, 1, random)[0]);
  CHECK(process.freedom() == 15);
}

TEST_CASE("values that are all the same are no trouble") {
  const Space space = grid(2, 4);
  const Encoding encoding(space);
  Random random(1);
  const auto sites = sites_of(space, encoding, 10, random);
  const std::vector<double> values(10, 3.25);
  GaussianProcess process(encoding, 0);
  process.set_weights(initial_weights(encoding, 0));
  learn_weights(process, encoding, sites, values, 20, random);
  auto posterior = process.predict(sites[3]);
  while (!process.exact(posterior)) process.refine(sites[3], posterior);
  CHECK(posterior.mean == doctest::Approx(3.25));
  CHECK(posterior.variance > 0);
}

}  // namespace fa_tune::test
