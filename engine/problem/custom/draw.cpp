#include "engine/problem/custom/draw.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/problem/custom/inputs.hpp"
#include "engine/util/bytes.hpp"
#include "engine/util/memory.hpp"
#include "engine/util/parallel.hpp"
#include "engine/util/random.hpp"

namespace fa_tune::problem {
namespace {

// 509 is prime: rows closer than that differ, and the multiplier keeps neighbours far apart. In
// [0, 1).
double share_of_row(std::size_t row, std::uint64_t seed) {
  return static_cast<double>((row * 37 + seed % 509) % 509) / 509;
}

// Deviations beyond which a normal distribution is taken to have nothing.
constexpr double kMostDeviations = 6;

// An element's place among those of which a tensor has few, and which of them it is.
struct Draw {
  double drawn = 0;       // by the distribution: deviations, or a share of what it covers
  double large = 0;       // in [0, 1): the lowest are of the few
  double row = 0;         // its row's, in [0, 1)
  double nearer = 1;      // by what rows of equal or low elements lie nearer to 0, of long ones
  bool low = false;       // whether its row is far below zero, of large logits
  bool outliers = false;  // whether its tensor has some, of large logits
};

// In deviations. Spread widely: of numbers that are almost equal, a variance as the mean square
// less the squared mean is not to be had.
constexpr double kLow = 105, kLowSpread = 200, kLowSpreadOfHalf = 60;

// A number below the normal ones of its type; either sign.
double below_normal(DType type, double share) {
  const int exponent = type == DType::f16 || type == DType::e5m2 ? -14
                       : type == DType::e4m3                     ? -6
                       : type == DType::f64                      ? -1022
                                                                 : -126;
  return std::ldexp(share < 0.5 ? -0.5 : 0.5, exponent);
}

// Of eight elements one each: 0, a number below the normal ones, and the ends; nothing for others.
std::optional<double> rare_value(DType type, double least, double most, const Draw& draw) {
  const bool has_zero = least <= 0 && most >= 0;
  const auto which = static_cast<int>(draw.large * 8);
  if (which == 0 && has_zero) return 0;
  if (which == 1 && least < 0 && most > 0 && !is_integer(type))
    return below_normal(type, draw.large * 8 - 1);
  if (which == 2) return least;
  if (which == 3) return most;
  return std::nullopt;
}

// Whether its numbers have both signs.
bool is_centred(const Distribution& fill) {
  return std::abs(fill.first) < kMostDeviations * fill.second;
}

double normal_value(DType type, const Distribution& fill, Inputs inputs, const Draw& draw) {
  double deviations = draw.drawn;
  if (inputs == Inputs::tripled) deviations *= 3;
  if (inputs == Inputs::small) deviations *= 0.01;
  if (inputs == Inputs::negated) deviations = -deviations;
  if (inputs == Inputs::large_logits) {
    const bool narrow = type == DType::f16 || size_of(type) == 1;
    const double spread = narrow ? kLowSpreadOfHalf : kLowSpread;
    if (draw.low && is_centred(fill))
      deviations = draw.nearer * (-kLow - spread * std::abs(draw.drawn));
    else if (draw.outliers && draw.large < 1.0 / 64)
      deviations *= 30;
  }
  if (inputs == Inputs::distinct_rows) deviations = draw.nearer * (4 * draw.row - 2);
  // Where it has numbers of one sign alone they keep it.
  if (inputs == Inputs::extreme && draw.large < 1.0 / 64)
    deviations = (draw.drawn < 0 ? -1 : 1) *
                 (is_centred(fill) ? 100 + draw.large * 64 * 900 : kMostDeviations);
  return fill.first + fill.second * deviations;
}

// Where between its bounds, in [0, 1).
double bounded_share(Inputs inputs, double drawn, double large, double row) {
  switch (inputs) {
    case Inputs::normal:
      return drawn;
    case Inputs::tripled:  // near the bounds
      return drawn < 0.5 ? 0.02 * drawn : 1 - 0.02 * (1 - drawn);
    case Inputs::small:  // near the middle
      return 0.5 + 0.01 * (drawn - 0.5);
    case Inputs::negated:
      return std::min(1 - drawn, std::nextafter(1.0, 0.0));
    case Inputs::large_logits:  // most are low
      return large < 1.0 / 64 ? 1 - 0.01 * (1 - drawn) : 0.1 * drawn;
    case Inputs::distinct_rows:
      return row;
    case Inputs::rare:
      return drawn;
    case Inputs::extreme:  // at the bounds
      return large < 0.5 ? 0 : std::nextafter(1.0, 0.0);
  }
  return drawn;
}

double value_of(DType type, const Distribution& fill, Inputs inputs, Random& random, Draw draw) {
  if (fill.kind == Distribution::Kind::value) return fill.first;
  const bool normal = fill.kind == Distribution::Kind::normal;
  draw.drawn = normal ? random.normal() : random.uniform();
  draw.large = random.uniform();
  if (inputs == Inputs::rare) {
    const double reach = kMostDeviations * fill.second;
    const double least = normal ? fill.first - reach : fill.first;
    const double most = normal ? fill.first + reach : fill.second;
    if (const auto value = rare_value(type, least, most, draw)) return *value;
  }
  if (normal) return normal_value(type, fill, inputs, draw);
  const double share = bounded_share(inputs, draw.drawn, draw.large, draw.row);
  return fill.first + share * (fill.second - fill.first);
}

// 64 bits of a share in [0, 1), which has 53 of its own: the others follow from these, so that
// equal shares stay equal, and the largest share is the largest number.
std::uint64_t bits_of_share(double share) {
  constexpr int kOwn = 53, kOthers = 64 - kOwn;
  constexpr std::uint64_t kLargest = (std::uint64_t{1} << kOwn) - 1;
  const auto own = static_cast<std::uint64_t>(std::ldexp(share, kOwn));
  const std::uint64_t others = own == kLargest ? ~std::uint64_t{0} : own * 0x9e3779b97f4a7c15ULL;
  return own << kOthers | others >> kOwn;
}

// An integer between two, all of them as likely.
Wide integer_at(Wide least, Wide most, double share) {
  __extension__ using Product = unsigned __int128;
  const auto count = static_cast<Product>(most - least) + 1;
  // Where a double has bits to spare.
  if (count <= Product{1} << 32)
    return least + static_cast<Wide>(std::floor(share * static_cast<double>(count)));
  return least + static_cast<Wide>(count * bits_of_share(share) >> 64);
}

Wide integer_of(const Distribution& fill, Inputs inputs, Random& random, Draw draw) {
  const Wide least = fill.least.number, most = fill.most.number;
  if (fill.kind == Distribution::Kind::value) return least;
  draw.drawn = random.uniform();
  draw.large = random.uniform();
  if (inputs == Inputs::rare) {
    const auto which = static_cast<int>(draw.large * 8);
    if (which == 0 && least <= 0 && most >= 0) return 0;
    if (which == 2) return least;
    if (which == 3) return most;
  }
  return integer_at(least, most, bounded_share(inputs, draw.drawn, draw.large, draw.row));
}

void draw_element(const Distribution& fill, Inputs inputs, Random& random, const Draw& draw,
                  DType type, std::byte* to) {
  using Kind = Distribution::Kind;
  const bool whole = fill.kind == Kind::integers || fill.kind == Kind::offsets;
  if (!whole && !(fill.kind == Kind::value && is_integer(type)))
    return put_number(type, value_of(type, fill, inputs, random, draw), to);
  const Wide value = integer_of(fill, inputs, random, draw);
  if (is_integer(type))
    put_integer(type, value, to);
  else
    put_number(type, static_cast<double>(value), to);
}

template <typename Number>
void sort_row(DType type, std::span<std::byte> row, Number (*get)(DType, const std::byte*),
              void (*put)(DType, Number, std::byte*)) {
  const std::size_t size = size_of(type);
  std::vector<Number> numbers(row.size() / size);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = get(type, row.data() + i * size);
  std::ranges::sort(numbers);
  for (std::size_t i = 0; i < numbers.size(); ++i) put(type, numbers[i], row.data() + i * size);
}

// In order for distinct rows, the other way round for negated inputs.
void permute_row(DType type, std::span<std::byte> row, Inputs inputs, Random random) {
  const std::size_t size = size_of(type), count = row.size() / size;
  std::vector<std::size_t> order(count);
  for (std::size_t i = 0; i < count; ++i) order[i] = inputs == Inputs::negated ? count - 1 - i : i;
  if (inputs != Inputs::negated && inputs != Inputs::distinct_rows)
    for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  for (std::size_t i = 0; i < count; ++i)
    put_integer(type, static_cast<Wide>(order[i]), row.data() + i * size);
}

}  // namespace

TensorDraw::TensorDraw(const CustomSpec& spec, Inputs inputs, std::uint64_t seed)
    : inputs_(inputs), seed_(seed) {
  std::vector<std::string> centred;
  bool half_output = false;
  for (const CustomArgument& argument : spec.arguments) {
    if (!argument.role) continue;
    half_output |= is_result(*argument.role) && argument.number() == DType::f16;
    if (is_given(*argument.role) && argument.fill.kind == Distribution::Kind::normal &&
        is_centred(argument.fill))
      centred.push_back(argument.name);
  }
  const std::uint64_t drawn = derive_seed(seed, "low rows");
  apart_ = half_output && centred.size() > 1;
  if (apart_ && drawn % 2 == 1) low_ = centred[drawn / 2 % centred.size()];
  first_low_ = apart_ ? drawn / 4 : drawn;
}

TensorDraw::LargeLogits TensorDraw::large_logits_of(const Tensor& tensor) const {
  if (!apart_) return {.outliers = true, .low_rows = true};
  return {.outliers = low_.empty(), .low_rows = tensor.name == low_};
}

double TensorDraw::nearer(std::size_t row_length) const {
  constexpr double kLong = 6144;
  return apart_ ? std::min(1.0, std::sqrt(kLong / static_cast<double>(row_length))) : 1;
}

// In pieces with seeds of their own, so that several threads can draw a large tensor.
void TensorDraw::fill(Tensor& tensor, const Distribution& distribution) const {
  const LargeLogits logits = large_logits_of(tensor);
  constexpr std::size_t piece = std::size_t{1} << 20;
  const auto count = static_cast<std::size_t>(tensor.elements());
  const std::size_t size = size_of(tensor.type);
  const auto row_length = static_cast<std::size_t>(tensor.dims.back());
  tensor.bytes = large_zeros<std::byte>(count * size);
  in_parallel((count + piece - 1) / piece, [&](std::size_t i) {
    Random random(derive_seed(seed_, tensor.name, i));
    const std::size_t end = std::min((i + 1) * piece, count);
    // Row by row: to divide for each element takes as long as to draw it.
    for (std::size_t at = i * piece; at < end;) {
      const std::size_t row = at / row_length;
      const Draw draw = {.row = share_of_row(row, seed_),
                         .nearer = nearer(row_length),
                         .low = logits.low_rows && (row + first_low_) % 2 == 0,
                         .outliers = logits.outliers};
      for (const std::size_t end_of_row = std::min((row + 1) * row_length, end); at < end_of_row;
           ++at)
        draw_element(distribution, inputs_, random, draw, tensor.type,
                     tensor.bytes.data() + at * size);
    }
  });
  if (distribution.orders_rows()) put_in_order(tensor, distribution);
}

void TensorDraw::put_in_order(Tensor& tensor, const Distribution& distribution) const {
  using Kind = Distribution::Kind;
  const std::size_t size = size_of(tensor.type);
  const std::size_t row_bytes = static_cast<std::size_t>(tensor.dims.back()) * size;
  in_parallel(tensor.bytes.size() / row_bytes, [&](std::size_t i) {
    const auto row = std::span(tensor.bytes).subspan(i * row_bytes, row_bytes);
    if (distribution.kind == Kind::permutation)
      return permute_row(tensor.type, row, inputs_, Random(derive_seed(seed_, tensor.name, i)));
    if (is_integer(tensor.type))
      sort_row<Wide>(tensor.type, row, get_integer, put_integer);
    else
      sort_row<double>(tensor.type, row, get_number, put_number);
    if (distribution.kind != Kind::offsets) return;
    put_integer(tensor.type, 0, row.data());
    put_integer(tensor.type, distribution.most.number, row.data() + row_bytes - size);
  });
}

namespace {

constexpr double kLastPlace = 0x1p-23;  // of a float, relative to it, at most
constexpr double kLeastNormal = 0x1p-126;
// The root mean square of a share that is drawn evenly from 0 to 1.
const double kUsualShare = std::sqrt(1.0 / 3);
constexpr std::size_t kElementsDrawn = std::size_t{1} << 20;  // with a seed of their own

// What low bits are drawn anew: as many as make another number of every type.
double low_bits(DType type) {
  switch (type) {
    case DType::f16:
      return 0x1p-10;
    case DType::bf16:
      return 0x1p-7;
    case DType::e4m3:
      return 0x1p-3;
    case DType::e5m2:
      return 0x1p-2;
    default:
      break;
  }
  return 0x1p-12;
}

// What a tensor was drawn from, if it moves.
const Distribution* moving(const CustomSpec& spec, const Tensor& tensor) {
  using Kind = Distribution::Kind;
  const auto& fill = std::ranges::find(spec.arguments, tensor.name, &CustomArgument::name)->fill;
  const bool drawn = fill.kind == Kind::normal || fill.kind == Kind::uniform;
  return is_given(tensor.role) && !is_integer(tensor.type) && drawn && !fill.sorted ? &fill
                                                                                    : nullptr;
}

// What was within a uniform distribution's bounds stays there: a kernel may have a root there.
double within(const Distribution& fill, double old, double value) {
  if (fill.kind == Distribution::Kind::normal) return value;
  return std::clamp(value, std::min(old, fill.first), std::max(old, fill.second));
}

// value(old, random) for each of `from`, into `to`, which may be the same.
template <typename Value>
void change(const Tensor& from, Tensor& to, const Distribution& fill, std::uint64_t seed,
            const Value& value) {
  const auto count = static_cast<std::size_t>(from.elements());
  const std::size_t from_size = size_of(from.type), to_size = size_of(to.type);
  in_parallel((count + kElementsDrawn - 1) / kElementsDrawn, [&](std::size_t piece) {
    Random random(derive_seed(seed, from.name, piece));
    const std::size_t end = std::min((piece + 1) * kElementsDrawn, count);
    std::array<double, 1024> numbers;
    for (std::size_t at = piece * kElementsDrawn; at < end;) {
      const auto here = std::span(numbers).first(std::min(numbers.size(), end - at));
      read_numbers(from.type, std::span(from.bytes).subspan(at * from_size), here);
      for (double& each : here) each = within(fill, each, value(each, random));
      if (to.type == DType::f64)
        copy_bytes(std::as_bytes(here), std::span(to.bytes).subspan(at * to_size));
      else
        for (std::size_t i = 0; i < here.size(); ++i)
          put_number(to.type, here[i], to.bytes.data() + (at + i) * to_size);
      at += here.size();
    }
  });
}

}  // namespace

void move_near(const CustomSpec& spec, const Instance& instance, Move how, std::uint64_t seed,
               Instance& wide) {
  for (std::size_t i = 0; i < wide.tensors.size(); ++i) {
    const Tensor& tensor = instance.tensors[i];
    const Distribution* fill = moving(spec, tensor);
    if (fill == nullptr) continue;
    if (how == Move::each)
      change(tensor, wide.tensors[i], *fill, derive_seed(seed, "nearby"),
             [](double old, Random& random) { return old * (1 - kLastPlace * random.uniform()); });
    else
      change(tensor, wide.tensors[i], *fill, derive_seed(seed, "nearby"), [](double old, Random&) {
        return std::abs(old) < kLeastNormal ? 0 : old * (1 - kLastPlace * kUsualShare);
      });
  }
}

Instance redrawn(const CustomSpec& spec, const Instance& instance, std::uint64_t seed,
                 Instance memory) {
  memory.tensors.resize(instance.tensors.size());
  Instance other{.shape = instance.shape,
                 .inputs = instance.inputs,
                 .seed = instance.seed,
                 .tensors = {},
                 .scalars = instance.scalars};
  for (std::size_t i = 0; i < instance.tensors.size(); ++i) {
    const Tensor& tensor = instance.tensors[i];
    const Distribution* const fill = moving(spec, tensor);
    std::vector<std::byte> bytes = std::move(memory.tensors[i].bytes);
    if (fill == nullptr)
      bytes = tensor.bytes;
    else if (bytes.size() != tensor.bytes.size())
      bytes = large_zeros<std::byte>(tensor.bytes.size());
    other.tensors.push_back(with_contents(tensor, tensor.type, std::move(bytes)));
    if (fill == nullptr) continue;
    const double most = low_bits(tensor.type);
    change(tensor, other.tensors[i], *fill, derive_seed(seed, "redrawn"),
           [most](double old, Random& random) { return old * (1 - most * random.uniform()); });
  }
  return other;
}

}  // namespace fa_tune::problem
