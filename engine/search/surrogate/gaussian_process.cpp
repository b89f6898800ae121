#include "engine/search/surrogate/gaussian_process.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>

namespace fa_tune::search {
namespace {

// Keeps the factor sound where two sites are the same but for what the kernel cannot see.
constexpr double kJitter = 1e-6;
constexpr double kLeastVariance = 1e-9;
// With fewer a distribution has no variance.
constexpr std::size_t kLeastFreedom = 3;
// That refine() counts at least.
constexpr std::size_t kRows = 32;

// e^x for x <= 0 with a relative error below 2e-6. By hand, because a library's is not vectorized
// and not the same everywhere.
inline float exp_of_negative(float x) {
  const float t = std::max(x, -80.0F) * std::numbers::log2e_v<float>;
  const auto whole = static_cast<std::int32_t>(t);
  const float f = (t - static_cast<float>(whole)) * std::numbers::ln2_v<float>;
  const float series =
      1.0F +
      f * (1.0F + f * (0.5F + f * (0.16666667F +
                                   f * (0.041666667F + f * (0.0083333333F + f * 0.0013888889F)))));
  return series * std::bit_cast<float>((whole + 127) << 23);
}

// Four partial sums, always in the same order: quick, and the same bits whatever the
// processor has for vectors.
double dot(const double* a, const double* b, std::size_t n) {
  double sums[4] = {0, 0, 0, 0};
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (std::size_t lane = 0; lane < 4; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  for (; i < n; ++i) sums[0] += a[i] * b[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

std::vector<float> exponentials(const std::vector<double>& logs, double off) {
  std::vector<float> weights;
  for (const double value : logs)
    weights.push_back(value <= off ? 0.0F : static_cast<float>(std::exp(value)));
  return weights;
}

}  // namespace

GaussianProcess::GaussianProcess(const Encoding& encoding, std::size_t earlier_runs)
    : coordinates_(encoding.dimensions().size()), earlier_(earlier_runs) {
  const std::size_t dimensions = encoding.dimensions().size();
  set_weights({std::vector<double>(dimensions, 0), std::vector<double>(dimensions, 0),
               std::vector<double>(earlier_runs, 0)});
}

void GaussianProcess::set_weights(KernelWeights weights) {
  weights_ = std::move(weights);
  slope_ = exponentials(weights_.slope, KernelWeights::kOff);
  step_ = exponentials(weights_.step, KernelWeights::kOff);
  trust_ = exponentials(weights_.trust, KernelWeights::kOff);
  active_.clear();
  genes_ = 0;
  for (std::size_t d = 0; d < slope_.size(); ++d) {
    if (slope_[d] > 0 || step_[d] > 0) active_.push_back(d);
    if (step_[d] > 0) ++genes_;
  }
  clear();
}

void GaussianProcess::clear() {
  keep_rows(0);
  values_.clear();
  known_ = taken_ = 0;
}

void GaussianProcess::keep_rows(std::size_t count) {
  for (auto& column : coordinates_) column.resize(count);
  for (auto& column : earlier_) column.resize(count);
  factor_.resize(count * (count + 1) / 2);
  rows_ = count;
}

void GaussianProcess::covariances(const Site& site, std::size_t first,
                                  std::vector<float>& out) const {
  out.resize(taken_);
  const std::size_t n = taken_;
  float* distance = out.data();
  std::fill(distance + first, distance + n, 0.0F);
  std::vector<float> alone(n, genes_ == 0 ? 1.0F : 0.0F);  // the mean over the genes
  const float share = 1.0F / static_cast<float>(std::max<std::size_t>(genes_, 1));
  for (const std::size_t d : active_) {
    const float* column = coordinates_[d].data();
    const float at = site.point[d], slope = slope_[d], step = step_[d];
    if (step > 0) {
      for (std::size_t i = first; i < n; ++i) {
        const float apart = at - column[i];
        const float part = slope * apart * apart + (apart != 0.0F ? step : 0.0F);
        distance[i] += part;
        alone[i] += share / (1.0F + part);
      }
    } else {
      for (std::size_t i = first; i < n; ++i) {
        const float apart = at - column[i];
        distance[i] += slope * apart * apart;
      }
    }
  }
  for (std::size_t i = first; i < n; ++i) {
    const float r = std::sqrt(5.0F * distance[i]);
    const float together = (1.0F + r + r * r * (1.0F / 3)) * exp_of_negative(-r);
    distance[i] = together + KernelWeights::kAlone * (alone[i] - together);
  }
  for (std::size_t j = 0; j < earlier_.size(); ++j) {
    const float* column = earlier_[j].data();
    const float said = trust_[j] * site.earlier[j];
    for (std::size_t i = first; i < n; ++i) distance[i] += said * column[i];
  }
}

double GaussianProcess::own_covariance(const Site& site) const {
  double own = 1;
  for (std::size_t j = 0; j < trust_.size(); ++j)
    own += static_cast<double>(trust_[j]) * site.earlier[j] * site.earlier[j];
  return own;
}

bool GaussianProcess::is_at(std::size_t i, const Site& site) const {
  for (std::size_t d = 0; d < coordinates_.size(); ++d)
    if (coordinates_[d][i] != site.point[d]) return false;
  for (std::size_t j = 0; j < earlier_.size(); ++j)
    if (earlier_[j][i] != site.earlier[j]) return false;
  return true;
}

void GaussianProcess::take(const Site& site) {
  // A row says the same whether its site's value is known or not. So what was believed and has
  // become known costs nothing, nor does what is believed again.
  if (taken_ < rows_) {
    if (is_at(taken_, site)) {
      ++taken_;
      return;
    }
    keep_rows(taken_);
  }
  Posterior posterior;
  covariances(site, 0, posterior.covariance);
  const double left = left_of(site, posterior, taken_) + std::exp(weights_.noise) + kJitter;
  factor_.insert(factor_.end(), posterior.projection.begin(), posterior.projection.end());
  factor_.push_back(std::sqrt(std::max(left, kLeastVariance)));
  for (std::size_t d = 0; d < coordinates_.size(); ++d) coordinates_[d].push_back(site.point[d]);
  for (std::size_t j = 0; j < earlier_.size(); ++j) earlier_[j].push_back(site.earlier[j]);
  rows_ = ++taken_;
}

void GaussianProcess::append(const Site& site, double value) {
  take(site);
  values_.push_back(value);
  known_ = taken_;
}

double GaussianProcess::solve() {
  const std::size_t n = known_;
  std::vector<double> projected(n), ones(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double* l = row(i);
    projected[i] = (values_[i] - dot(l, projected.data(), i)) / l[i];
    ones[i] = (1 - dot(l, ones.data(), i)) / l[i];
  }
  mean_ = dot(ones.data(), projected.data(), n) / dot(ones.data(), ones.data(), n);
  dual_.resize(n);
  double squares = 0, log_determinant = 0;
  for (std::size_t i = 0; i < n; ++i) {
    dual_[i] = projected[i] - mean_ * ones[i];
    squares += dual_[i] * dual_[i];
    log_determinant += std::log(row(i)[i]);
  }
  for (std::size_t i = n; i-- > 0;) {
    const double* l = row(i);
    dual_[i] /= l[i];
    for (std::size_t j = 0; j < i; ++j) dual_[j] -= l[j] * dual_[i];
  }
  // Values that are all the same leave a variance of nothing, and nothing to learn from.
  scale_ = std::max(squares / static_cast<double>(n), 1e-12);
  return -0.5 * static_cast<double>(n) * std::log(scale_) - log_determinant;
}

double GaussianProcess::set_values(std::vector<double> values) {
  values_ = std::move(values);
  return solve();
}

void GaussianProcess::believe(const Site& site) { take(site); }

void GaussianProcess::forget_beliefs() { taken_ = known_; }

int GaussianProcess::freedom() const {
  return static_cast<int>(std::max(known_ / 2, kLeastFreedom));
}

GaussianProcess::Posterior GaussianProcess::predict(const Site& site) const {
  Posterior posterior;
  covariances(site, 0, posterior.covariance);
  double sum = 0;
  float nearest = 0;
  for (std::size_t i = 0; i < known_; ++i) {
    sum += static_cast<double>(posterior.covariance[i]) * dual_[i];
    nearest = std::max(nearest, posterior.covariance[i]);
  }
  posterior.mean = mean_ + sum;
  const double own = own_covariance(site);
  // Of one site alone; with linear terms a site's own covariance differs, so there the bound is
  // the prior's.
  const double known =
      trust_.empty() ? static_cast<double>(nearest) * nearest / (1 + std::exp(weights_.noise)) : 0;
  posterior.variance = std::max(own - known, kLeastVariance) * scale_;
  return posterior;
}

double GaussianProcess::left_of(const Site& site, Posterior& posterior, std::size_t rows) const {
  if (posterior.covariance.size() < taken_)
    covariances(site, posterior.covariance.size(), posterior.covariance);
  std::vector<double>& projection = posterior.projection;
  projection.reserve(taken_);
  for (std::size_t i = projection.size(); i < rows; ++i) {
    const double* l = row(i);
    projection.push_back((posterior.covariance[i] - dot(l, projection.data(), i)) / l[i]);
  }
  return own_covariance(site) - dot(projection.data(), projection.data(), projection.size());
}

void GaussianProcess::refine(const Site& site, Posterior& posterior) const {
  if (exact(posterior)) return;
  const std::size_t rows =
      std::min(taken_, posterior.projection.size() + std::max(kRows, taken_ / 4));
  const double left = std::max(left_of(site, posterior, rows), kLeastVariance) * scale_;
  posterior.variance = exact(posterior) ? left : std::min(posterior.variance, left);
}

}  // namespace fa_tune::search
