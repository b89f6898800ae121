#include "engine/problem/custom/inputs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/problem/custom/draw.hpp"
#include "engine/util/bytes.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/util/half.hpp"
#include "engine/util/hash.hpp"
#include "engine/util/memory.hpp"
#include "engine/util/npy.hpp"
#include "engine/util/parallel.hpp"
#include "engine/util/random.hpp"

namespace fa_tune::problem {
namespace {

// What a header may take beyond the data (npy.hpp), with its magic.
constexpr std::uintmax_t kMostBeyond = (std::uintmax_t{64} << 10) + 16;

std::string type_code(DType type) {
  switch (type) {
    case DType::f16:
      return "<f2";
    case DType::bf16:
      return "<u2";
    case DType::f32:
      return "<f4";
    case DType::f64:
      return "<f8";
    case DType::i32:
      return "<i4";
    case DType::e4m3:
      return "|u1";
  }
  return "";
}

std::string read_known(const CustomSpec& spec, const std::string& name, const Tensor& tensor) {
  const auto known = spec.arrays.find(name);
  if (known == spec.arrays.end())
    throw UserError(name + ": the space's text does not say where it is, under `arrays`");
  const auto& [at, sha256_of_it] = known->second;
  const auto most = static_cast<std::uintmax_t>(tensor.elements()) * sizeof(double) + kMostBeyond;
  std::string text = read_file(at, {"the array of " + tensor.name, most});
  if (sha256(text) != sha256_of_it)
    throw UserError(at.string() + ": is not the file any more that it was when the space was read");
  return text;
}

NpyArray parse_fitting(const std::string& text, const std::string& name, const Tensor& tensor) {
  NpyArray array = parse_npy(text, name);
  const auto same = [](std::uint64_t a, std::int64_t b) {
    return a == static_cast<std::uint64_t>(b);
  };
  if (!std::ranges::equal(array.dims, tensor.dims, same))
    throw UserError(fmt::format("{}: has the shape [{}], expected [{}] for {}", name,
                                fmt::join(array.dims, ", "), fmt::join(tensor.dims, ", "),
                                tensor.name));
  return array;
}

}  // namespace

std::vector<std::byte> array_bytes(const CustomSpec& spec, const std::string& file,
                                   const Tensor& tensor) {
  const std::string text = read_known(spec, file, tensor);
  const NpyArray array = parse_fitting(text, file, tensor);
  if (array.type != type_code(tensor.type))
    throw UserError(fmt::format("{}: holds {}, expected {} for {}", file, array.type,
                                type_code(tensor.type), tensor.name));
  return {array.bytes.begin(), array.bytes.end()};
}

std::vector<double> array_values(const CustomSpec& spec, const std::string& file,
                                 const Tensor& tensor) {
  const std::string text = read_known(spec, file, tensor);
  const NpyArray array = parse_fitting(text, file, tensor);
  const bool wide = array.type == type_code(DType::f64);
  if (!wide && array.type != type_code(tensor.type))
    throw UserError(fmt::format("{}: holds {}, expected {} or <f8 for {}", file, array.type,
                                type_code(tensor.type), tensor.name));
  std::vector<double> values = numbers_of(wide ? DType::f64 : tensor.type, array.bytes);
  if (!std::ranges::all_of(values, [](double value) { return std::isfinite(value); }))
    throw UserError(file + ": holds numbers that are not finite");
  return values;
}

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
  for (const expression::Expression& size : argument.shape) {
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
  const TensorDraw draw(spec, inputs, seed);
  for (Tensor& tensor : instance.tensors) {
    if (!is_given(tensor.role)) continue;
    const Distribution& fill =
        std::ranges::find(spec.arguments, tensor.name, &CustomArgument::name)->fill;
    if (fill.kind == Distribution::Kind::file)
      tensor.bytes = array_bytes(spec, fill.file, tensor);
    else
      draw.fill(tensor, fill);
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

}  // namespace fa_tune::problem
