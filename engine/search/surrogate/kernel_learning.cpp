#include "engine/search/surrogate/kernel_learning.hpp"

#include <algorithm>
#include <cmath>

namespace fa_tune {
namespace {

// A weight's prior: a normal distribution of its logarithm, and how far it may go.
struct Prior {
  double mean, deviation, low, high;
};

// Wide: a factor of e^2 either way is nothing special. At the means, a gene's ends have a
// correlation of about 0.4 and two neighbours of a long list one of about 0.8.
constexpr Prior kStep = {-1.2, 2, -7, 4};
constexpr Prior kSlope = {-0.5, 2, -9, 6};
// Products are many and most of them mean nothing.
constexpr Prior kProduct = {-5, 3, -9, 6};
// An earlier run of another shape or device may say little, or the wrong thing: trust is earned.
constexpr Prior kTrust = {-2, 1.5, -9, 5};
constexpr Prior kNoise = {-7, 2.5, -12, -0.5};
// Of the steps that move a dimension, those that move one of the genes themselves.
constexpr double kGenesShare = 0.6;

struct Weight {
  double* log;
  Prior prior;
};

// The weights in use, genes before products before the rest.
struct Weights {
  std::vector<Weight> genes, products, others;
};

Weights in_use(KernelWeights& weights, const Encoding& encoding) {
  Weights all;
  const auto& dimensions = encoding.dimensions();
  for (std::size_t d = 0; d < dimensions.size(); ++d) {
    if (weights.step[d] > KernelWeights::off) all.genes.push_back({&weights.step[d], kStep});
    if (weights.slope[d] <= KernelWeights::off) continue;
    if (dimensions[d].product)
      all.products.push_back({&weights.slope[d], kProduct});
    else
      all.genes.push_back({&weights.slope[d], kSlope});
  }
  for (double& trust : weights.trust) all.others.push_back({&trust, kTrust});
  all.others.push_back({&weights.noise, kNoise});
  return all;
}

double log_prior(const Weights& all) {
  double sum = 0;
  for (const auto* group : {&all.genes, &all.products, &all.others})
    for (const Weight& weight : *group) {
      const double z = (*weight.log - weight.prior.mean) / weight.prior.deviation;
      sum -= 0.5 * z * z;
    }
  return sum;
}

double condition(GaussianProcess& process, const KernelWeights& weights,
                 std::span<const Site> sites, std::span<const double> values) {
  process.set_weights(weights);
  for (std::size_t i = 0; i < sites.size(); ++i) process.append(sites[i], values[i]);
  return process.solve();
}

const Weight& choose(const Weights& all, Random& random) {
  const std::size_t count = all.genes.size() + all.products.size() + all.others.size();
  const std::size_t draw = random.below(count);
  if (draw < all.others.size()) return all.others[draw];
  const auto& group = all.products.empty() || (!all.genes.empty() && random.uniform() < kGenesShare)
                          ? all.genes
                          : all.products;
  return group.empty() ? all.others.front() : group[random.below(group.size())];
}

}  // namespace

KernelWeights initial_weights(const Encoding& encoding, std::size_t earlier_runs) {
  KernelWeights weights;
  for (const Encoding::Dimension& dimension : encoding.dimensions()) {
    weights.step.push_back(dimension.product ? KernelWeights::off : kStep.mean);
    weights.slope.push_back(dimension.product   ? kProduct.mean
                            : dimension.ordered ? kSlope.mean
                                                : KernelWeights::off);
  }
  weights.trust.assign(earlier_runs, kTrust.mean);
  weights.noise = kNoise.mean;
  return weights;
}

void learn_weights(GaussianProcess& process, const Encoding& encoding, std::span<const Site> sites,
                   std::span<const double> values, int steps, Random& random) {
  KernelWeights weights = process.weights();
  Weights all = in_use(weights, encoding);
  double best = condition(process, weights, sites, values) + log_prior(all);
  bool current = true;
  for (int step = 0; step < steps; ++step) {
    const Weight& weight = choose(all, random);
    const double before = *weight.log;
    // A bell of width 1.5 by three uniforms.
    const double draw = random.uniform() + random.uniform() + random.uniform() - 1.5;
    *weight.log = std::clamp(before + 3 * draw, weight.prior.low, weight.prior.high);
    const double score = condition(process, weights, sites, values) + log_prior(all);
    current = score > best;
    if (current)
      best = score;
    else
      *weight.log = before;
  }
  if (!current) condition(process, weights, sites, values);
}

}  // namespace fa_tune
