#include "engine/problem/custom/inputs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "engine/problem/custom/arrays.hpp"
#include "engine/util/bytes.hpp"
#include "engine/util/error.hpp"
#include "engine/util/half.hpp"
#include "engine/util/memory.hpp"
#include "engine/util/parallel.hpp"
#include "engine/util/random.hpp"

namespace fa_tune {
namespace {

// Of all buffers together: what a device can hold twice over beside their guards, and a host.
constexpr std::int64_t kMostBytes = std::int64_t{8} << 30;
constexpr std::int64_t kMostConstant = 64 << 10;  // CUDA C++ Programming Guide, all variables

template <typename T>
void put(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

template <typename T>
T take(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace

void put_number(DType type, double value, std::byte* to) {
  switch (type) {
    case DType::f16:
      return put(to, to_f16(value));
    case DType::bf16:
      return put(to, to_bf16(value));
    case DType::f32:
      return put(to, static_cast<float>(value));
    case DType::f64:
      return put(to, value);
    case DType::i32:
      return put(to, static_cast<std::int32_t>(value));
    case DType::e4m3:
      return put(to, to_e4m3(value));
  }
}

double get_number(DType type, const std::byte* from) {
  switch (type) {
    case DType::f16:
      return static_cast<double>(from_f16(take<std::uint16_t>(from)));
    case DType::bf16:
      return static_cast<double>(from_bf16(take<std::uint16_t>(from)));
    case DType::f32:
      return static_cast<double>(take<float>(from));
    case DType::f64:
      return take<double>(from);
    case DType::i32:
      return take<std::int32_t>(from);
    case DType::e4m3:
      return static_cast<double>(from_e4m3(take<std::uint8_t>(from)));
  }
  return 0;
}

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
  double drawn = 0;  // by the distribution: deviations, or a share of what it covers
  double large = 0;  // in [0, 1): the lowest are of the few
  double row = 0;    // its row's, in [0, 1)
  bool low = false;  // whether its row is (LargeLogits)
};

// What Inputs::large_logits does to the rows of a tensor: a few elements of some are 30 times as
// large, others lie so far below zero as a whole that expf gives 0 for all of their elements.
struct LargeLogits {
  bool outliers = true;
  bool low_rows = false;
  std::uint64_t first = 0;  // low: the rows whose number and this are even together

  bool is_low(std::size_t row) const { return low_rows && (row + first) % 2 == 0; }
};
// In deviations. Spread widely: of numbers that are almost equal, a variance as the mean square
// less the squared mean is not to be had.
constexpr double kLow = 105, kLowSpread = 200, kLowSpreadOfHalf = 60;

// A number below the normal ones of its type; either sign.
double below_normal(DType type, double share) {
  const int exponent = type == DType::f16 ? -14 : type == DType::f64 ? -1022 : -126;
  return std::ldexp(share < 0.5 ? -0.5 : 0.5, exponent);
}

// Of eight elements one each: 0, a number below the normal ones, and the ends; nothing for others.
std::optional<double> rare_value(DType type, double least, double most, const Draw& draw) {
  const bool has_zero = least <= 0 && most >= 0;
  const auto which = static_cast<int>(draw.large * 8);
  if (which == 0 && has_zero) return 0;
  if (which == 1 && least < 0 && most > 0 && type != DType::i32)
    return below_normal(type, draw.large * 8 - 1);
  if (which == 2) return least;
  if (which == 3) return most;
  return std::nullopt;
}

// Whether its numbers have both signs.
bool is_centred(const Distribution& fill) {
  return std::abs(fill.first) < kMostDeviations * fill.second;
}

double normal_value(DType type, const Distribution& fill, Inputs inputs, const LargeLogits& logits,
                    const Draw& draw) {
  double deviations = draw.drawn;
  if (inputs == Inputs::tripled) deviations *= 3;
  if (inputs == Inputs::small) deviations *= 0.01;
  if (inputs == Inputs::negated) deviations = -deviations;
  if (inputs == Inputs::large_logits) {
    const double spread = type == DType::f16 ? kLowSpreadOfHalf : kLowSpread;
    if (draw.low && is_centred(fill))
      deviations = -kLow - spread * std::abs(draw.drawn);
    else if (logits.outliers && draw.large < 1.0 / 64)
      deviations *= 30;
  }
  if (inputs == Inputs::distinct_rows) deviations = 4 * draw.row - 2;
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

double value_of(DType type, const Distribution& fill, Inputs inputs, const LargeLogits& logits,
                Random& random, double row, bool low) {
  using Kind = Distribution::Kind;
  if (fill.kind == Kind::value) return fill.first;
  const bool normal = fill.kind == Kind::normal;
  const double drawn = normal ? random.normal() : random.uniform();
  const Draw draw = {drawn, random.uniform(), row, low};
  if (inputs == Inputs::rare) {
    const double reach = kMostDeviations * fill.second;
    const double least = normal ? fill.first - reach : fill.first;
    const double most = normal ? fill.first + reach : fill.second;
    if (const auto value = rare_value(type, least, most, draw)) return *value;
  }
  if (normal) return normal_value(type, fill, inputs, logits, draw);
  const double share = bounded_share(inputs, draw.drawn, draw.large, row);
  if (fill.kind == Kind::uniform) return fill.first + share * (fill.second - fill.first);
  return fill.first + std::floor(share * (fill.second - fill.first + 1));
}

// In pieces with seeds of their own, so that several threads can draw a large tensor.
void draw(Tensor& tensor, const Distribution& fill, Inputs inputs, const LargeLogits& logits,
          std::uint64_t seed) {
  constexpr std::size_t piece = std::size_t{1} << 20;
  const auto count = static_cast<std::size_t>(tensor.elements());
  const std::size_t size = size_of(tensor.type);
  const auto row_length = static_cast<std::size_t>(tensor.dims.back());
  tensor.bytes = large_zeros<std::byte>(count * size);
  in_parallel((count + piece - 1) / piece, [&](std::size_t i) {
    Random random(derive_seed(seed, tensor.name, i));
    const std::size_t end = std::min((i + 1) * piece, count);
    // Row by row: to divide for each element takes as long as to draw it.
    for (std::size_t at = i * piece; at < end;) {
      const std::size_t row = at / row_length;
      const double share = share_of_row(row, seed);
      const bool low = logits.is_low(row);
      for (const std::size_t end_of_row = std::min((row + 1) * row_length, end); at < end_of_row;
           ++at)
        put_number(tensor.type, value_of(tensor.type, fill, inputs, logits, random, share, low),
                   tensor.bytes.data() + at * size);
    }
  });
}

// Rows of both sorts in every tensor. Only where fp16 has to hold products of several tensors, one
// of them has low rows and none has outliers, or all have outliers: together they would leave its
// range.
std::function<LargeLogits(const Tensor&)> large_logits_of(const CustomSpec& spec,
                                                          std::uint64_t seed) {
  std::vector<std::string> centred;
  bool half_output = false;
  for (const CustomArgument& argument : spec.arguments) {
    if (!argument.role) continue;
    half_output |= is_result(*argument.role) && argument.type == DType::f16;
    if (is_given(*argument.role) && argument.fill.kind == Distribution::Kind::normal &&
        is_centred(argument.fill))
      centred.push_back(argument.name);
  }
  const std::uint64_t drawn = derive_seed(seed, "low rows");
  if (!half_output || centred.size() < 2)
    return [drawn](const Tensor&) { return LargeLogits{true, true, drawn}; };
  if (drawn % 2 == 0) return [](const Tensor&) { return LargeLogits{}; };
  return [drawn, low = centred[drawn / 2 % centred.size()]](const Tensor& tensor) {
    return LargeLogits{false, tensor.name == low, drawn / 4};
  };
}

// Another value of a scalar, for a kernel that was written for the one that is stated.
double redrawn(const CustomArgument& argument, double stated, std::uint64_t seed) {
  Random random(derive_seed(seed, "scalar " + argument.name));
  if (argument.vary)
    return argument.vary->least + random.uniform() * (argument.vary->most - argument.vary->least);
  return stated * std::exp2(2 * random.uniform() - 1);
}

// What follows from sizes is what it is; so is an integer, and 0.
bool may_vary(const CustomArgument& argument) {
  return !argument.role && argument.type != DType::i32 && !argument.fixed &&
         (!argument.value || argument.value->names().empty());
}

Scalar scalar_of(const CustomArgument& argument, const Constants& sizes) {
  const std::int64_t whole = argument.value ? evaluate(*argument.value, sizes) : 0;
  if (argument.type == DType::i32 && (whole < INT32_MIN || whole > INT32_MAX))
    throw UserError(fmt::format("{}'{}' is {}, which an i32 cannot hold", prefix(argument.mark),
                                argument.name, whole));
  Scalar scalar{.name = argument.name,
                .bytes = std::vector<std::byte>(size_of(argument.type)),
                .type = argument.type};
  put_number(argument.type, argument.value ? static_cast<double>(whole) : argument.real,
             scalar.bytes.data());
  return scalar;
}

Tensor tensor_of(const CustomArgument& argument, const Constants& sizes, std::int64_t& bytes_left) {
  Tensor tensor{.name = argument.name,
                .type = argument.type,
                .role = *argument.role,
                .dims = {},
                .bytes = {}};
  auto room = bytes_left / static_cast<std::int64_t>(size_of(argument.type));
  for (const Expression& size : argument.shape) {
    const std::int64_t dim = evaluate(size, sizes);
    if (dim < 1)
      throw UserError(fmt::format("{}'{}' has a size of {} = {} for {}: it must be above 0",
                                  prefix(size.mark()), argument.name, size.text(), dim,
                                  to_json(sizes)));
    if (dim > room)
      throw UserError(fmt::format("{}'{}' makes the buffers larger than {} GiB for {}",
                                  prefix(size.mark()), argument.name, kMostBytes >> 30,
                                  to_json(sizes)));
    room /= dim;
    tensor.dims.push_back(dim);
  }
  const std::int64_t bytes = tensor.elements() * static_cast<std::int64_t>(size_of(argument.type));
  tensor.constant = argument.constant;
  if (argument.constant && bytes > kMostConstant)
    throw UserError(fmt::format("{}'{}' takes {} bytes for {}: constant memory has {}",
                                prefix(argument.mark), argument.name, bytes, to_json(sizes),
                                kMostConstant));
  bytes_left -= bytes;
  return tensor;
}

}  // namespace

Instance describe_custom(const CustomSpec& spec, const Constants& sizes) {
  Instance instance{.shape = sizes, .tensors = {}, .scalars = {}};
  std::int64_t bytes_left = kMostBytes;
  for (const CustomArgument& argument : spec.arguments) {
    if (argument.role)
      instance.tensors.push_back(tensor_of(argument, sizes, bytes_left));
    else
      instance.scalars.push_back(scalar_of(argument, sizes));
  }
  return instance;
}

Instance make_custom(const CustomSpec& spec, const Constants& sizes, Inputs inputs,
                     std::uint64_t seed) {
  Instance instance = describe_custom(spec, sizes);
  instance.inputs = inputs;
  instance.seed = seed;
  if (varies_scalars(inputs))
    for (Scalar& scalar : instance.scalars) {
      const auto& argument = *std::ranges::find(spec.arguments, scalar.name, &CustomArgument::name);
      if (may_vary(argument))
        put_number(scalar.type,
                   redrawn(argument, get_number(scalar.type, scalar.bytes.data()), seed),
                   scalar.bytes.data());
    }
  const auto logits = large_logits_of(spec, seed);
  for (Tensor& tensor : instance.tensors) {
    if (!is_given(tensor.role)) continue;
    const Distribution& fill =
        std::ranges::find(spec.arguments, tensor.name, &CustomArgument::name)->fill;
    if (fill.kind == Distribution::Kind::file)
      tensor.bytes = array_bytes(spec, fill.file, tensor);
    else
      draw(tensor, fill, inputs, logits(tensor), seed);
  }
  return instance;
}

void read_numbers(DType type, std::span<const std::byte> bytes, std::span<double> numbers) {
  // What most are, without asking each of its type.
  if (type == DType::f64)
    return copy_bytes(bytes.first(numbers.size_bytes()), std::as_writable_bytes(numbers));
  if (type == DType::f32) {
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = static_cast<double>(take<float>(bytes.data() + i * sizeof(float)));
    return;
  }
  const std::size_t size = size_of(type);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = get_number(type, bytes.data() + i * size);
}

std::vector<double> numbers_of(DType type, std::span<const std::byte> bytes) {
  const std::size_t size = size_of(type);
  auto numbers = large_zeros<double>(bytes.size() / size);
  in_pieces(numbers.size(), [&](std::size_t first, std::size_t end) {
    read_numbers(type, bytes.subspan(first * size), std::span(numbers).subspan(first, end - first));
  });
  return numbers;
}

namespace {

std::vector<std::byte> widened(DType type, std::span<const std::byte> bytes) {
  const std::size_t size = size_of(type), count = bytes.size() / size;
  auto made = large_zeros<std::byte>(count * sizeof(double));
  in_pieces(count, [&](std::size_t first, std::size_t end) {
    std::array<double, 1024> numbers;
    for (; first < end; first += std::min(numbers.size(), end - first)) {
      const auto here = std::span(numbers).first(std::min(numbers.size(), end - first));
      read_numbers(type, bytes.subspan(first * size), here);
      copy_bytes(std::as_bytes(here), std::span(made).subspan(first * sizeof(double)));
    }
  });
  return made;
}

}  // namespace

Instance widened(const CustomSpec& spec, const Instance& instance) {
  Instance wide{.shape = instance.shape,
                .inputs = instance.inputs,
                .seed = instance.seed,
                .tensors = {},
                .scalars = instance.scalars};
  for (const Tensor& tensor : instance.tensors) {
    const bool widens = tensor.type != DType::i32;
    wide.tensors.push_back({.name = tensor.name,
                            .type = widens ? DType::f64 : tensor.type,
                            .role = tensor.role,
                            .dims = tensor.dims,
                            .bytes = widens ? widened(tensor.type, tensor.bytes) : tensor.bytes,
                            .axes = tensor.axes,
                            .constant = tensor.constant});
  }
  for (Scalar& scalar : wide.scalars) {
    const auto& argument = *std::ranges::find(spec.arguments, scalar.name, &CustomArgument::name);
    if (argument.type == DType::i32) continue;
    scalar.bytes = widened(argument.type, scalar.bytes);
    scalar.type = DType::f64;
  }
  return wide;
}

}  // namespace fa_tune
