#include "engine/problem/custom/tolerance.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "engine/problem/custom/inputs.hpp"
#include "engine/util/memory.hpp"
#include "engine/util/parallel.hpp"

namespace fa_tune::problem {
namespace {

constexpr std::size_t kPiece = 32;
constexpr double kMostElementFactor = 16;
constexpr double kRmsFactor = 4;
// Elements whose errors are kept of each draw, to see how much draws differ.
constexpr std::size_t kSampled = std::size_t{1} << 16;
constexpr std::int64_t kMostColumns = 32, kLeastRows = 16;

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
    case DType::e5m2:
      return {2, -14};
    case DType::f64:
      return {52, -1022};
    default:
      break;
  }
  return {23, -126};
}

// Of a number that is finite. By its bits: ilogb and ldexp take ten times as long.
double half_ulp(const Grid& grid, double value) {
  constexpr int kFractionBits = 52, kBias = 1023, kExponents = 0x7ff;
  const auto bits = std::bit_cast<std::uint64_t>(value) >> kFractionBits;
  // What is below the normal numbers of a double is below all others' too.
  const int own = static_cast<int>(bits & kExponents) - kBias;
  const int wanted = std::max(own, grid.min_exponent) - grid.fraction_bits - 1;
  if (wanted <= -kBias) return std::ldexp(1.0, wanted);
  return std::bit_cast<double>(static_cast<std::uint64_t>(wanted + kBias) << kFractionBits);
}

// What flushing to zero changes: a number below the normal ones. Nobody computes in 16 bits with
// that, so it is nothing to f16.
double flushed(DType type) {
  return type == DType::f32 || type == DType::bf16 ? std::ldexp(1.0, grid_of(type).min_exponent)
                                                   : 0;
}

// Means over neighbours: pieces of elements, and the pieces before and behind each. Where rows are
// `width` long, neighbours are those in the same column of the rows about; 1: all, as they lie in
// memory.
class Around {
 public:
  Around(const std::vector<double>& energy, std::size_t width) : width_(width) {
    // Not by differences of sums from the first element on: a row of small numbers behind one of
    // large ones would drown in those.
    const std::size_t rows = energy.size() / width;
    const std::size_t pieces = (rows + kPiece - 1) / kPiece;
    std::vector<double> sums(pieces * width, 0.0);
    in_parallel((pieces + kPiecesAtATime - 1) / kPiecesAtATime, [&](std::size_t part) {
      const std::size_t first = part * kPiecesAtATime * kPiece;
      const std::size_t end = std::min(rows, first + kPiecesAtATime * kPiece);
      for (std::size_t row = first; row < end; ++row)
        for (std::size_t i = 0; i < width; ++i)
          sums[row / kPiece * width + i] += energy[row * width + i];
    });
    means_.resize(sums.size());
    in_parallel((pieces + kPiecesAtATime - 1) / kPiecesAtATime, [&](std::size_t part) {
      const std::size_t end = std::min((part + 1) * kPiecesAtATime, pieces);
      for (std::size_t piece = part * kPiecesAtATime; piece < end; ++piece) {
        const std::size_t from = piece - std::min<std::size_t>(piece, 1);
        const std::size_t upto = std::min(piece + 2, pieces);
        const auto there = static_cast<double>(std::min(upto * kPiece, rows) - from * kPiece);
        for (std::size_t i = 0; i < width; ++i) {
          double sum = 0;
          for (std::size_t j = from; j < upto; ++j) sum += sums[j * width + i];
          means_[piece * width + i] = sum / there;
        }
      }
    });
  }

  double operator[](std::size_t element) const {
    return means_[element / width_ / kPiece * width_ + element % width_];
  }

 private:
  static constexpr std::size_t kPiecesAtATime = std::size_t{1} << 10;

  std::size_t width_;
  std::vector<double> means_;
};

// How long rows are whose columns may be of different meaning and size; 1 if there are none, or too
// few to know a column by.
std::size_t width_of(const Tensor& output) {
  const std::int64_t width = output.dims.back();
  return width <= kMostColumns && output.elements() >= width * kLeastRows
             ? static_cast<std::size_t>(width)
             : 1;
}

// Mean and variance of what the draws come to.
struct Spread {
  double mean = 0, variance = 0;
  bool known = false;  // the variance
};

Spread spread_of(const std::vector<double>& energies) {
  Spread spread;
  const auto count = static_cast<double>(energies.size());
  for (const double each : energies) spread.mean += each / count;
  spread.known = energies.size() > 1;
  for (const double each : energies)
    if (spread.known) spread.variance += (each - spread.mean) * (each - spread.mean) / (count - 1);
  return spread;
}

}  // namespace

NoiseDraws NoiseDraws::of(const Instance& instance) {
  std::int64_t elements = 0, results = 0;
  for (const Tensor& tensor : instance.tensors) {
    elements += tensor.elements();
    if (is_result(tensor.role)) results += tensor.elements();
  }
  if (elements <= 1 << 16) return {6, 6};
  // Of few results rounding is drawn seldom within a run.
  if (results <= 1 << 10) return {4, 4};
  return {elements <= 1 << 20 ? 2 : 1, 4};
}

Noise::Noise(const Tensor& output, std::vector<double> exact)
    : output_(output),
      exact_(std::move(exact)),
      stride_((exact_.size() + kSampled - 1) / kSampled) {
  rounding_.squares = large_zeros<double>(exact_.size());
  moved_.squares = large_zeros<double>(exact_.size());
}

void Noise::Kind::add(std::size_t stride, DType type, std::span<const std::byte> run,
                      std::span<const std::byte> in_double) {
  ++draws;
  std::vector<double> none;
  auto& kept = stride == 0 ? none : sampled.emplace_back((squares.size() + stride - 1) / stride);
  in_pieces(squares.size(), [&](std::size_t first, std::size_t end) {
    std::array<double, 1024> errors, exact;
    for (std::size_t at = first; at < end;) {
      const std::size_t here = std::min(errors.size(), end - at);
      read_numbers(type, run.subspan(at * size_of(type)), std::span(errors).first(here));
      read_numbers(DType::f64, in_double.subspan(at * sizeof(double)),
                   std::span(exact).first(here));
      for (std::size_t i = 0; i < here; ++i) {
        errors[i] -= exact[i];
        squares[at + i] += errors[i] * errors[i];
      }
      if (stride > 0)
        for (std::size_t i = (at + stride - 1) / stride * stride; i < at + here; i += stride)
          kept[i / stride] = errors[i - at];
      at += here;
    }
  });
}

void Noise::add_rounding(std::span<const std::byte> run, std::span<const std::byte> in_double) {
  rounding_.add(stride_, output_.type, run, in_double);
}

void Noise::add_move(std::span<const std::byte> near, Move how) {
  // One that is no draw tells nothing of how much draws differ.
  moved_.add(how == Move::each ? stride_ : 0, DType::f64, near, std::as_bytes(std::span(exact_)));
}

double Noise::factor_of_all(std::span<const double> bounds) const {
  const auto spread = [&](const Kind& kind) {
    std::vector<double> energies;
    for (const std::vector<double>& errors : kind.sampled) {
      double energy = 0;
      for (std::size_t i = 0; i < errors.size(); ++i) {
        const double error = bounds.empty() ? errors[i] : errors[i] / bounds[i * stride_];
        energy += error * error;
      }
      energies.push_back(energy);
    }
    return spread_of(energies);
  };
  Spread rounding = spread(rounding_), moved = spread(moved_);
  const auto like = [](Spread& unknown, const Spread& other) {
    if (!unknown.known && other.known && other.mean > 0)
      unknown.variance = other.variance / (other.mean * other.mean) * unknown.mean * unknown.mean;
  };
  like(rounding, moved);
  like(moved, rounding);
  // The squares of n errors that have nothing to do with each other vary by 2/n of their mean.
  auto alone = static_cast<double>(exact_.size());
  const double mean = rounding.mean + moved.mean, variance = rounding.variance + moved.variance;
  if (mean > 0 && std::isfinite(mean) && variance > 0)
    alone = std::min(alone, 2 * (mean * mean) / variance);
  return std::min(kMostElementFactor,
                  kRmsFactor + (kMostElementFactor - kRmsFactor) / std::sqrt(std::max(alone, 1.0)));
}

Expectation Noise::expectation() && {
  const Grid grid = grid_of(output_.type);
  const std::size_t count = exact_.size();
  std::vector<double> own = std::exchange(rounding_.squares, {});
  in_pieces(count, [&](std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i)
      own[i] = own[i] / rounding_.draws + moved_.squares[i] / moved_.draws;
  });
  moved_.squares = {};
  const std::size_t width = width_of(output_);
  const Around in_memory(own, 1);
  const std::optional<Around> in_column =
      width > 1 ? std::optional(Around(own, width)) : std::nullopt;
  struct Energies {
    double exact = 0, noise = 0;
  };
  std::vector<Energies> of_pieces(element_pieces(count));
  in_pieces(count, [&](std::size_t first, std::size_t end) {
    Energies sums;
    for (std::size_t i = first; i < end; ++i) {
      const double last_place = half_ulp(grid, exact_[i]);
      const double neighbours = in_column ? std::min(in_memory[i], (*in_column)[i]) : in_memory[i];
      const double energy = std::max(own[i], neighbours) + last_place * last_place;
      sums.exact += exact_[i] * exact_[i];
      sums.noise += energy;
      own[i] = kMostElementFactor * std::sqrt(energy) + flushed(output_.type);
    }
    of_pieces[first / kElementsOfPiece] = sums;
  });
  Energies all;
  for (const Energies& each : of_pieces) {
    all.exact += each.exact;
    all.noise += each.noise;
  }
  Expectation made{.tensor = output_.name, .exact = {}, .bound = std::move(own)};
  const double relative = factor_of_all({}) * std::sqrt(all.noise / all.exact);
  if (std::isfinite(relative)) made.rms_bound = relative;
  made.scaled_rms_bound = factor_of_all(made.bound) / kMostElementFactor;
  made.exact = std::move(exact_);
  made.measured = true;
  return made;
}

Expectation stated_expectation(const Tensor& output, std::vector<double> exact,
                               const Tolerance& tolerance) {
  Expectation made{.tensor = output.name, .exact = std::move(exact), .bound = {}};
  made.bound = large_zeros<double>(made.exact.size());
  in_pieces(made.exact.size(), [&](std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) {
      const double own = made.exact[i];
      const double size = output.complex ? std::hypot(own, made.exact[i ^ 1]) : std::abs(own);
      made.bound[i] = tolerance.absolute + tolerance.relative * size;
    }
  });
  return made;
}

Expectation equal_expectation(const Tensor& output, std::vector<std::byte> bytes) {
  return {.tensor = output.name, .exact = {}, .bound = {}, .equal = std::move(bytes)};
}

}  // namespace fa_tune::problem
