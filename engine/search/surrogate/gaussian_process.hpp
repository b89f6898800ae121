#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "engine/search/surrogate/arithmetic.hpp"
#include "engine/search/surrogate/encoding.hpp"

namespace fa_tune::search {

// What the likeness of two points depends on, as natural logarithms. The covariance is
//   k(x, y) = (1 - a) M(r) + a mean_g 1 / (1 + r_g^2) + sum_j exp(trust_j) m_j(x) m_j(y),
//   r^2 = sum_d exp(slope_d) (x_d - y_d)^2 + exp(step_d) [x_d != y_d],
// M the Matern 5/2 function, r_g^2 the part of r^2 that gene g has alone, a kAlone, in units of a
// variance that is estimated, with exp(noise) added where x and y are one trial. What each gene does
// alone carries what is known of a few genes to configs that differ in all others. `slope` makes
// values that are far apart in their list unlike, `step` any two that differ; a weight below `off`
// is none, and genes have a step. m_j are what earlier runs say of a config.
struct KernelWeights {
  static constexpr double kOff = -20;
  static constexpr float kAlone = 0.3F;

  std::vector<double> slope;
  std::vector<double> step;
  std::vector<double> trust;
  double noise = -7;
};

// Where a surrogate is asked: a config's point and what each earlier run says of it.
struct Site {
  Point point;
  std::vector<float> earlier;
};

// A Gaussian process over configs (Rasmussen and Williams 2006, chapters 2 and 5): what it says of
// a config is a distribution of its value. Constant unknown mean; variance by maximum
// likelihood. Costs n^2 a site to extend, n^2 to ask for a variance, n for a mean.
class GaussianProcess {
 public:
  GaussianProcess(const Encoding& encoding, std::size_t earlier_runs);

  std::size_t size() const { return known_; }  // sites with a value
  // Of Student's t distribution, which a value has where its variance had to be estimated. Variance
  // and weights come from the same values, so they have half as many as there are values: with few
  // of them no config is out of the question.
  int freedom() const;
  const KernelWeights& weights() const { return weights_; }
  void set_weights(KernelWeights weights);  // forgets all sites

  void clear();
  // Takes a site and its value; call solve() before asking.
  void append(const Site& site, double value);
  // Logarithm of the marginal likelihood, but for a constant.
  double solve();
  // Gives the sites other values, in the order in which they were taken, and solves: cheap, as the
  // covariances stay.
  double set_values(std::vector<double> values);

  // What is known of a site so far. `variance` is an upper bound until refine() has been called,
  // and becomes one again when sites are believed.
  struct Posterior {
    double mean = 0;
    double variance = 0;
    std::size_t counted = 0;    // sites that the variance has been lowered by
    std::size_t projected = 0;  // at least those
    // The first rows of inverse(L) covariance, then covariances with the other sites taken.
    std::vector<double> rows;
  };
  // With the bound that its most like site gives: cheap.
  Posterior predict(const Site& site) const;
  // Brings the variance nearer to what it is, by a part of the sites taken: where many sites stand
  // first in turns, most are out of the question before all have been counted.
  void refine(const Site& site, Posterior& posterior) const;
  bool exact(const Posterior& posterior) const { return posterior.counted == taken_; }
  // Whether refine() would have to project more rows.
  bool lacks_rows(const Posterior& posterior) const {
    return posterior.projected < rows_to_count(posterior);
  }
  // Projects what refine() needs of the first, and as much of others with as many rows projected:
  // the factor, which is most of what it reads, is read once. Variances stay as they are.
  void project_together(std::span<const std::pair<const Site*, Posterior*>> all) const;

  // Takes a site as if its value were the predicted mean, until forget_beliefs(): means stay as
  // they are, variances near it shrink. For a batch whose results are not there yet ("kriging
  // believer", Ginsbourger et al. 2010). What is known of the site already saves time.
  void believe(const Site& site) { take(site, {}); }
  void believe(const Site& site, Posterior posterior) { take(site, std::move(posterior)); }
  void forget_beliefs();

 private:
  // Covariances with the sites taken that `rows` has no place for yet.
  void add_covariances(const Site& site, std::vector<double>& rows) const;
  double own_covariance(const Site& site) const;
  void project(const Site& site, Posterior& posterior, std::size_t rows) const;
  std::size_t rows_to_count(const Posterior& posterior) const;
  // The site's own covariance, less what its first `rows` projected rows explain.
  double left_of(const Site& site, const Posterior& posterior, std::size_t rows) const;
  void take(const Site& site, Posterior posterior);
  void keep_rows(std::size_t count);
  // Where in the tiles a site's first coordinate is; the next ones follow at each kTile.
  std::size_t place(std::size_t i) const;
  bool is_at(std::size_t i, const Site& site) const;
  std::size_t tile_size() const { return (dimensions_ + earlier_runs_) * kTile; }
  const double* row(std::size_t i) const { return factor_.data() + i * (i + 1) / 2; }

  std::size_t dimensions_;
  std::size_t earlier_runs_;
  KernelWeights weights_;
  std::vector<float> trust_;             // exp of the weights, 0 where off
  std::vector<DimensionWeight> active_;  // the same; of dimensions that count
  std::size_t genes_ = 0;                // of them
  std::vector<float> tiles_;             // coordinates of the sites in rows: see Arithmetic
  std::vector<double> factor_;           // Cholesky's L, row after row
  std::vector<double> values_;
  std::vector<double> dual_;  // inverse(K) (values - mean)
  double mean_ = 0;
  double scale_ = 1;  // the variance
  std::size_t known_ = 0;
  std::size_t taken_ = 0;  // with those believed
  std::size_t rows_ = 0;   // with those forgotten whose place nobody has taken
};

}  // namespace fa_tune::search
