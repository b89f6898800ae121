#include "engine/problem/attention/tolerance.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "engine/problem/attention/precision.hpp"
#include "engine/problem/attention/shape.hpp"

namespace fa_tune::problem {
namespace {

// Standard deviation of the relative error of a flat row's p, in units of the unit roundoff.
constexpr double kRoundingOfFlatP = 1;
constexpr double kFlatVariation = 4;  // of a row's p, in the same units
constexpr double kElementFactor = 8;
constexpr double kLsePrecision = 0x1p-13;

// How much more than its expectation a root mean square over `rows` rows may be.
double rms_factor(double rows) { return 1.25 + 2 / std::sqrt(rows); }

double noise_of(const AttentionShape& shape, double exact, double spread, double variation) {
  if (spread == 0 && exact == 0) return 0;
  const double unit = precision_of(shape.dtype).unit_roundoff();
  const bool flat = variation < kFlatVariation * unit;
  return std::hypot((flat ? kRoundingOfFlatP : kRoundingOfP) * unit * spread,
                    precision_of(shape.output_type()).half_ulp(exact) / std::numbers::sqrt3);
}

// From head after head to the order of O in memory.
std::vector<double> as_in_memory(const AttentionShape& shape, std::vector<double> values) {
  if (shape.layout == Layout::BHSD) return values;
  const RowOrder place = query_rows(shape);
  const auto D = static_cast<std::ptrdiff_t>(shape.D);
  const auto Lq = static_cast<std::size_t>(shape.Lq);
  std::vector<double> result(values.size());
  for (std::size_t row = 0; row < values.size() / static_cast<std::size_t>(D); ++row)
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(row) * D, D,
                result.begin() + static_cast<std::ptrdiff_t>(place(row / Lq, row % Lq)) * D);
  return result;
}

// Turns the truth of rows [first, end), of one head, into the noise of each element; by how much it
// has to grow.
double add_noise(const AttentionShape& shape, const AttentionTruth& truth, std::size_t first,
                 std::size_t end, std::vector<double>& noise) {
  const auto D = static_cast<std::size_t>(shape.D);
  double error_in_noise = 0;
  for (std::size_t i = first * D; i < end * D; ++i) {
    noise[i] = noise_of(shape, truth.exact[i], truth.spread[i], truth.p_variation[i / D]);
    const double error = truth.trusted[i] - truth.exact[i];
    if (noise[i] > 0) error_in_noise += (error / noise[i]) * (error / noise[i]);
  }
  return std::max(1.0, std::sqrt(error_in_noise / static_cast<double>((end - first) * D)));
}

// Where the rows of a sample lie; none if these are all.
std::vector<std::uint32_t> places_of(const RowSample& rows, const RowOrder& place) {
  std::vector<std::uint32_t> places;
  if (rows.stride() == 1) return places;
  places.reserve(rows.size());
  for (std::size_t head = 0; head < rows.heads(); ++head)
    for (const std::uint32_t position : rows.of_head(head))
      places.push_back(static_cast<std::uint32_t>(place(head, position)));
  return places;
}

}  // namespace

double largest_bound(const AttentionShape& shape, double size) {
  return kElementFactor * noise_of(shape, size, size, 0);
}

double largest_growth(const AttentionShape& shape, const RowSample& rows,
                      const AttentionTruth& truth) {
  std::vector<double> noise(truth.exact.size());
  double largest = 1;
  for (std::size_t head = 0; head < rows.heads(); ++head)
    largest = std::max(largest, add_noise(shape, truth, rows.begin(head), rows.end(head), noise));
  return largest;
}

Expectation attention_expectation(const AttentionShape& shape, const RowSample& rows,
                                  AttentionTruth truth) {
  const auto D = static_cast<std::size_t>(shape.D);
  std::vector<double> bound(truth.exact.size());
  double exact_energy = 0, noise_energy = 0, squared_row_energies = 0, rows_seen = 0;
  for (std::size_t head = 0; head < rows.heads(); ++head) {
    const std::size_t end = rows.end(head);
    const double growth = add_noise(shape, truth, rows.begin(head), end, bound);
    for (std::size_t row = rows.begin(head); row < end; ++row) {
      double row_energy = 0;
      for (std::size_t i = row * D; i < (row + 1) * D; ++i) {
        const double noise = growth * bound[i];
        exact_energy += truth.exact[i] * truth.exact[i];
        row_energy += noise * noise;
        bound[i] = kElementFactor * noise;
      }
      noise_energy += row_energy;
      squared_row_energies += row_energy * row_energy;
      if (row_energy > 0) ++rows_seen;
    }
  }

  Expectation made{.tensor = "O", .exact = {}, .bound = {}};
  made.rows = places_of(rows, query_rows(shape));
  made.exact =
      made.sampled() ? std::move(truth.exact) : as_in_memory(shape, std::move(truth.exact));
  made.bound = made.sampled() ? std::move(bound) : as_in_memory(shape, std::move(bound));
  if (noise_energy > 0) {
    const double rows_that_matter = noise_energy * noise_energy / squared_row_energies;
    made.rms_bound = rms_factor(rows_that_matter) * std::sqrt(noise_energy / exact_energy);
    made.scaled_rms_bound = rms_factor(rows_seen) / kElementFactor;
  }
  return made;
}

Expectation lse_expectation(const AttentionShape& shape, const RowSample& rows,
                            const AttentionTruth& truth) {
  const auto D = static_cast<double>(shape.D);
  const double of_score =
      shape.dtype == DType::e4m3 ? 0x1p-12 * std::sqrt(D / 32) : 0x1p-23 * (D / 8 + 4);
  Expectation made{.tensor = "LSE", .exact = truth.lse_exact, .bound = {}};
  // In memory LSE is [B,H,Lq], whatever the layout.
  made.rows = places_of(rows, RowOrder(Layout::BHSD, shape.B, shape.H, shape.Lq));
  made.bound.resize(made.exact.size());
  double growth = 1;
  for (std::size_t row = 0; row < made.exact.size(); ++row) {
    const double exact = made.exact[row];
    if (!std::isfinite(exact)) continue;
    made.bound[row] =
        of_score * static_cast<double>(truth.score_size[row]) + 0x1p-21 * std::abs(exact);
    const double error = std::abs(static_cast<double>(truth.lse_trusted[row]) - exact);
    if (made.bound[row] > 0) growth = std::max(growth, error / made.bound[row]);
  }
  double exact_energy = 0, bound_energy = 0;
  for (std::size_t row = 0; row < made.exact.size(); ++row) {
    if (!std::isfinite(made.exact[row])) continue;
    made.bound[row] = kLsePrecision + growth * made.bound[row];
    exact_energy += made.exact[row] * made.exact[row];
    bound_energy += made.bound[row] * made.bound[row];
  }
  if (exact_energy > 0) made.rms_bound = std::sqrt(bound_energy / exact_energy);
  return made;
}

}  // namespace fa_tune::problem
