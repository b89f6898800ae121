#pragma once

#include <cstddef>

namespace fa_tune::search {

// The inner loops of a GaussianProcess, most of what a proposal costs. All variants give the same
// bits: nothing is contracted, and sums have one order whatever a processor has for vectors.

// Sites of a tile. A tile has a row of their values for each dimension and each earlier run.
constexpr std::size_t kTile = 16;

// Systems of equations that are solved at a time, at most, and what their number is a multiple of:
// L does not fit into the caches near a core.
constexpr std::size_t kTogether = 8;
constexpr std::size_t kTogetherStep = 4;

// A dimension's weights; `step` is 0 where it has none. See KernelWeights.
struct DimensionWeight {
  std::size_t dimension;
  float slope;
  float step;
};

// What covariances with one site depend on.
struct CovarianceTerms {
  const DimensionWeight* weights;
  std::size_t weight_count;
  std::size_t stepped_count;  // of the weights that have a step
  float alone;                // share of what each of these does alone
  const float* point;         // of the site, by dimension
  std::size_t dimension_count;
  const float* earlier;  // by earlier run, times the trust in it
  std::size_t earlier_count;
};

struct Arithmetic {
  // Covariances of the site with those in `count` tiles.
  void (*covariances)(const CovarianceTerms& terms, const float* tiles, std::size_t count,
                      float* out);
  // Solves L x = b in place for x[first] to x[last - 1], those before being solved. L is a lower
  // triangular matrix, row after row without zeros.
  void (*substitute)(const double* factor, std::size_t first, std::size_t last, double* x);
  // The same for `count` of them, which read L once.
  void (*substitute_together)(const double* factor, std::size_t first, std::size_t last,
                              double* const* x, std::size_t count);
};

namespace plain {
extern const Arithmetic kArithmetic;
}
namespace avx2 {
extern const Arithmetic kArithmetic;  // there where FA_TUNE_AVX2 is defined
}

}  // namespace fa_tune::search
