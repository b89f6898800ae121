#pragma once

#include <span>

#include "engine/search/surrogate/gaussian_process.hpp"
#include "engine/util/random.hpp"

namespace fa_tune {

// Weights to begin with: every gene counts, products hardly.
KernelWeights initial_weights(const Encoding& encoding, std::size_t earlier_runs);

// Improves the weights that make these values most likely, with a prior that keeps few trials from
// saying much: random steps of one weight at a time, kept if they help, `steps` of them. Leaves the
// process conditioned on the sites given.
void learn_weights(GaussianProcess& process, const Encoding& encoding, std::span<const Site> sites,
                   std::span<const double> values, int steps, Random& random);

}  // namespace fa_tune
