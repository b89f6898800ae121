#include "engine/search/surrogate/gaussian_process.hpp"

#include <algorithm>
#include <array>
#include <cmath>
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
constexpr std::size_t kTilesAtATime = 8;
// Room in a posterior for sites that are taken after it was made.
constexpr std::size_t kMoreRows = 64;

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

const Arithmetic& fastest_arithmetic() {
#ifdef FA_TUNE_AVX2
  if (__builtin_cpu_supports("avx2")) return avx2::kArithmetic;
#endif
  return plain::kArithmetic;
}

const Arithmetic& arithmetic() {
  static const Arithmetic& fastest = fastest_arithmetic();
  return fastest;
}

std::vector<float> exponentials(const std::vector<double>& logs, double off) {
  std::vector<float> weights;
  for (const double value : logs)
    weights.push_back(value <= off ? 0.0F : static_cast<float>(std::exp(value)));
  return weights;
}

}  // namespace

GaussianProcess::GaussianProcess(const Encoding& encoding, std::size_t earlier_runs)
    : dimensions_(encoding.dimensions().size()), earlier_runs_(earlier_runs) {
  set_weights({std::vector<double>(dimensions_, 0), std::vector<double>(dimensions_, 0),
               std::vector<double>(earlier_runs, 0)});
}

void GaussianProcess::set_weights(KernelWeights weights) {
  weights_ = std::move(weights);
  const auto slope = exponentials(weights_.slope, KernelWeights::kOff);
  const auto step = exponentials(weights_.step, KernelWeights::kOff);
  trust_ = exponentials(weights_.trust, KernelWeights::kOff);
  active_.clear();
  genes_ = 0;
  for (std::size_t d = 0; d < dimensions_; ++d) {
    if (slope[d] > 0 || step[d] > 0) active_.push_back({d, slope[d], step[d]});
    if (step[d] > 0) ++genes_;
  }
  clear();
}

void GaussianProcess::clear() {
  keep_rows(0);
  values_.clear();
  known_ = taken_ = 0;
}

void GaussianProcess::keep_rows(std::size_t count) {
  factor_.resize(count * (count + 1) / 2);
  rows_ = count;
}

void GaussianProcess::add_covariances(const Site& site, std::vector<double>& rows) const {
  std::vector<float> said;
  for (std::size_t j = 0; j < earlier_runs_; ++j) said.push_back(trust_[j] * site.earlier[j]);
  const CovarianceTerms terms{active_.data(),    active_.size(), genes_,      KernelWeights::kAlone,
                              site.point.data(), dimensions_,    said.data(), earlier_runs_};
  std::array<float, kTilesAtATime * kTile> block;
  if (rows.empty()) rows.reserve(taken_ + kMoreRows);
  while (rows.size() < taken_) {
    const std::size_t tile = rows.size() / kTile, first = rows.size() % kTile;
    const std::size_t tiles = std::min(kTilesAtATime, (taken_ - 1) / kTile + 1 - tile);
    arithmetic().covariances(terms, tiles_.data() + tile * tile_size(), tiles, block.data());
    rows.insert(rows.end(), block.begin() + first,
                block.begin() + std::min(tiles * kTile, taken_ - tile * kTile));
  }
}

double GaussianProcess::own_covariance(const Site& site) const {
  double own = 1;
  for (std::size_t j = 0; j < trust_.size(); ++j)
    own += static_cast<double>(trust_[j]) * site.earlier[j] * site.earlier[j];
  return own;
}

std::size_t GaussianProcess::place(std::size_t i) const {
  return i / kTile * tile_size() + i % kTile;
}

bool GaussianProcess::is_at(std::size_t i, const Site& site) const {
  const float* at = tiles_.data() + place(i);
  const auto is_next = [&at](float value) { return *std::exchange(at, at + kTile) == value; };
  return std::ranges::all_of(site.point, is_next) && std::ranges::all_of(site.earlier, is_next);
}

void GaussianProcess::take(const Site& site, Posterior posterior) {
  // A row says the same whether its site's value is known or not. So what was believed and has
  // become known costs nothing, nor does what is believed again.
  if (taken_ < rows_) {
    if (is_at(taken_, site)) {
      ++taken_;
      return;
    }
    keep_rows(taken_);
  }
  project(site, posterior, taken_);
  const double left = left_of(site, posterior, taken_) + std::exp(weights_.noise) + kJitter;
  factor_.insert(factor_.end(), posterior.rows.begin(), posterior.rows.end());
  factor_.push_back(std::sqrt(std::max(left, kLeastVariance)));
  if (taken_ % kTile == 0) tiles_.resize((taken_ / kTile + 1) * tile_size());
  float* at = tiles_.data() + place(taken_);
  const auto put = [&at](float value) { *std::exchange(at, at + kTile) = value; };
  std::ranges::for_each(site.point, put);
  std::ranges::for_each(site.earlier, put);
  rows_ = ++taken_;
}

void GaussianProcess::append(const Site& site, double value) {
  take(site, {});
  values_.push_back(value);
  known_ = taken_;
}

double GaussianProcess::solve() {
  const std::size_t n = known_;
  std::vector<double> projected = values_, ones(n, 1);
  arithmetic().substitute(factor_.data(), 0, n, projected.data());
  arithmetic().substitute(factor_.data(), 0, n, ones.data());
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

void GaussianProcess::forget_beliefs() { taken_ = known_; }

int GaussianProcess::freedom() const {
  return static_cast<int>(std::max(known_ / 2, kLeastFreedom));
}

GaussianProcess::Posterior GaussianProcess::predict(const Site& site) const {
  Posterior posterior;
  add_covariances(site, posterior.rows);
  double sum = 0, nearest = 0;
  for (std::size_t i = 0; i < known_; ++i) {
    sum += posterior.rows[i] * dual_[i];
    nearest = std::max(nearest, posterior.rows[i]);
  }
  posterior.mean = mean_ + sum;
  const double own = own_covariance(site);
  // Of one site alone; with linear terms a site's own covariance differs, so there the bound is
  // the prior's.
  const double known = trust_.empty() ? nearest * nearest / (1 + std::exp(weights_.noise)) : 0;
  posterior.variance = std::max(own - known, kLeastVariance) * scale_;
  return posterior;
}

void GaussianProcess::project(const Site& site, Posterior& posterior, std::size_t rows) const {
  add_covariances(site, posterior.rows);
  if (posterior.projected >= rows) return;
  arithmetic().substitute(factor_.data(), posterior.projected, rows, posterior.rows.data());
  posterior.projected = rows;
}

void GaussianProcess::project_together(
    std::span<const std::pair<const Site*, Posterior*>> all) const {
  const std::size_t known = all.front().second->projected;
  const std::size_t rows = rows_to_count(*all.front().second);
  std::array<double*, kTogether> places{};
  for (std::size_t k = 0; k < all.size(); ++k) {
    const auto [site, posterior] = all[k];
    add_covariances(*site, posterior->rows);
    posterior->projected = rows;
    places[k] = posterior->rows.data();
  }
  arithmetic().substitute_together(factor_.data(), known, rows, places.data(), all.size());
}

std::size_t GaussianProcess::rows_to_count(const Posterior& posterior) const {
  return std::min(taken_, posterior.counted + std::max(kRows, taken_ / 4));
}

double GaussianProcess::left_of(const Site& site, const Posterior& posterior,
                                std::size_t rows) const {
  return own_covariance(site) - dot(posterior.rows.data(), posterior.rows.data(), rows);
}

void GaussianProcess::refine(const Site& site, Posterior& posterior) const {
  if (exact(posterior)) return;
  const std::size_t rows = rows_to_count(posterior);
  project(site, posterior, rows);
  posterior.counted = rows;
  const double left = std::max(left_of(site, posterior, rows), kLeastVariance) * scale_;
  posterior.variance = exact(posterior) ? left : std::min(posterior.variance, left);
}

}  // namespace fa_tune::search
