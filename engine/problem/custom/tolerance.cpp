#include "engine/problem/custom/tolerance.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "engine/base/memory.hpp"
#include "engine/base/parallel.hpp"
#include "engine/problem/custom/inputs.hpp"

namespace fa_tune {
namespace {

constexpr std::size_t kPiece = 32;
constexpr std::size_t kAtATime = 1024;  // elements that are decoded before they are used
constexpr double kElementFactor = 16;
constexpr double kRmsFactor = 4;

struct Grid {
  int fraction_bits;
  int min_exponent;  // of the smallest normal number
};

Grid grid_of(DType type) {
  switch (type) {
    case DType::e4m3:
      return {3, -6};
    case DType::f16:
      return {10, -14};
    case DType::bf16:
      return {7, -126};
    case DType::f64:
      return {52, -1022};
    case DType::f32:
    case DType::i32:
      break;
  }
  return {23, -126};
}

double half_ulp(const Grid& grid, double value) {
  const int exponent =
      value == 0 ? grid.min_exponent : std::max(std::ilogb(value), grid.min_exponent);
  return std::ldexp(1.0, exponent - grid.fraction_bits - 1);
}

// What flushing to zero changes: a number below the normal ones. Nobody computes in 16 bits with
// that, so it is nothing to f16.
double flushed(DType type) {
  return type == DType::f32 || type == DType::bf16 ? std::ldexp(1.0, grid_of(type).min_exponent)
                                                   : 0;
}

// Of each element, the mean square of the errors around it. Not by differences of sums from the
// first element on: a row of small numbers behind one of large ones would drown in those.
std::vector<double> local_energy(DType type, const std::vector<double>& exact,
                                 std::span<const std::byte> trusted,
                                 std::span<const std::byte> near) {
  static_assert(elements_of_piece % kAtATime == 0 && kAtATime % kPiece == 0);
  const std::size_t count = exact.size();
  std::vector<double> sums((count + kPiece - 1) / kPiece, 0.0);
  in_pieces(count, [&](std::size_t first, std::size_t end) {
    std::array<double, kAtATime> trusted_here{}, near_here{};
    for (std::size_t at = first; at < end; at += kAtATime) {
      const std::size_t here = std::min(kAtATime, end - at);
      read_numbers(type, trusted.subspan(at * size_of(type)), std::span(trusted_here).first(here));
      read_numbers(DType::f64, near.subspan(at * sizeof(double)), std::span(near_here).first(here));
      for (std::size_t i = 0; i < here; ++i) {
        const double rounding = trusted_here[i] - exact[at + i],
                     moved = near_here[i] - exact[at + i];
        sums[(at + i) / kPiece] += rounding * rounding + moved * moved;
      }
    }
  });
  auto energy = large_zeros<double>(count);
  in_pieces(count, [&](std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; i += kPiece) {
      const std::size_t piece = i / kPiece;
      const std::size_t from = piece - std::min<std::size_t>(piece, 1);
      const std::size_t upto = std::min(piece + 2, sums.size());
      double sum = 0;
      for (std::size_t j = from; j < upto; ++j) sum += sums[j];
      const std::size_t elements = std::min(upto * kPiece, count) - from * kPiece;
      std::fill(energy.data() + i, energy.data() + std::min(i + kPiece, end),
                sum / static_cast<double>(elements));
    }
  });
  return energy;
}

}  // namespace

Expectation measured_expectation(const Tensor& output, std::vector<double> exact,
                                 std::span<const std::byte> trusted,
                                 std::span<const std::byte> near) {
  const Grid grid = grid_of(output.type);
  Expectation made{
      .tensor = output.name, .exact = {}, .bound = local_energy(output.type, exact, trusted, near)};
  struct Energies {
    double exact = 0, noise = 0;
  };
  std::vector<Energies> of_pieces(element_pieces(exact.size()));
  in_pieces(exact.size(), [&](std::size_t first, std::size_t end) {
    Energies sums;
    for (std::size_t i = first; i < end; ++i) {
      const double rounding = half_ulp(grid, exact[i]);
      const double energy = made.bound[i] + rounding * rounding;
      sums.exact += exact[i] * exact[i];
      sums.noise += energy;
      made.bound[i] = kElementFactor * std::sqrt(energy) + flushed(output.type);
    }
    of_pieces[first / elements_of_piece] = sums;
  });
  double exact_energy = 0, noise_energy = 0;
  for (const Energies& each : of_pieces) {
    exact_energy += each.exact;
    noise_energy += each.noise;
  }
  made.exact = std::move(exact);
  made.rms_bound = exact_energy > 0 ? kRmsFactor * std::sqrt(noise_energy / exact_energy)
                                    : std::numeric_limits<double>::max();
  made.scaled_rms_bound = kRmsFactor / kElementFactor;
  return made;
}

Expectation stated_expectation(const Tensor& output, std::vector<double> exact,
                               const Tolerance& tolerance) {
  Expectation made{.tensor = output.name, .exact = std::move(exact), .bound = {}};
  made.bound.reserve(made.exact.size());
  for (const double value : made.exact)
    made.bound.push_back(tolerance.absolute + tolerance.relative * std::abs(value));
  // Nothing was said of the whole.
  made.rms_bound = std::numeric_limits<double>::max();
  return made;
}

Expectation equal_expectation(const Tensor& output, std::vector<double> exact) {
  Expectation made{.tensor = output.name, .exact = std::move(exact), .bound = {}};
  made.bound.assign(made.exact.size(), 0.0);
  return made;
}

}  // namespace fa_tune
