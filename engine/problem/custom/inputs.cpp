#include "engine/problem/custom/inputs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/problem/custom/draw.hpp"
#include "engine/util/bytes.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/util/hash.hpp"
#include "engine/util/memory.hpp"
#include "engine/util/npy.hpp"
#include "engine/util/parallel.hpp"
#include "engine/util/random.hpp"

namespace fa_tune::problem {
namespace {

// What a header may take beyond the data (npy.hpp), with its magic.
constexpr std::uintmax_t kMostBeyond = (std::uintmax_t{64} << 10) + 16;

std::string array_code(const Tensor& tensor) {
  if (tensor.complex) return tensor.type == DType::f32 ? "<c8" : "<c16";
  return npy_code(tensor.type);
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
  // NumPy has complex numbers as elements.
  const auto dims = std::span(tensor.dims).first(tensor.dims.size() - (tensor.complex ? 1 : 0));
  if (!std::ranges::equal(array.dims, dims, same))
    throw UserError(fmt::format("{}: has the shape [{}], expected [{}] for {}", name,
                                fmt::join(array.dims, ", "), fmt::join(dims, ", "), tensor.name));
  return array;
}

}  // namespace

std::vector<std::byte> array_bytes(const CustomSpec& spec, const std::string& file,
                                   const Tensor& tensor) {
  const std::string text = read_known(spec, file, tensor);
  const NpyArray array = parse_fitting(text, file, tensor);
  if (array.type != array_code(tensor))
    throw UserError(fmt::format("{}: holds {}, expected {} for {}", file, array.type,
                                array_code(tensor), tensor.name));
  const auto is_flag = [](std::byte each) { return each <= std::byte{1}; };
  if (tensor.type == DType::boolean && !std::ranges::all_of(array.bytes, is_flag))
    throw UserError(file + ": holds bytes that are no bool: neither 0 nor 1");
  return {array.bytes.begin(), array.bytes.end()};
}

std::vector<double> array_values(const CustomSpec& spec, const std::string& file,
                                 const Tensor& tensor) {
  const std::string text = read_known(spec, file, tensor);
  const NpyArray array = parse_fitting(text, file, tensor);
  const std::string wide_code = tensor.complex ? "<c16" : npy_code(DType::f64);
  const bool wide = array.type == wide_code;
  if (!wide && array.type != array_code(tensor))
    throw UserError(fmt::format("{}: holds {}, expected {} or {} for {}", file, array.type,
                                array_code(tensor), wide_code, tensor.name));
  std::vector<double> values = numbers_of(wide ? DType::f64 : tensor.type, array.bytes);
  if (!std::ranges::all_of(values, [](double value) { return std::isfinite(value); }))
    throw UserError(file + ": holds numbers that are not finite");
  return values;
}

namespace {

// Of all buffers together: what a device can hold twice over beside their guards, and a host.
constexpr std::int64_t kMostBytes = std::int64_t{8} << 30;
constexpr std::int64_t kMostConstant = 64 << 10;  // CUDA C++ Programming Guide, all variables

// Another value of a scalar, for a kernel that was written for the one that is stated.
double redrawn(const CustomArgument& argument, double stated, std::uint64_t seed) {
  Random random(derive_seed(seed, "scalar " + argument.name));
  if (argument.vary)
    return argument.vary->least + random.uniform() * (argument.vary->most - argument.vary->least);
  return stated * std::exp2(2 * random.uniform() - 1);
}

// What follows from sizes is what it is; so is an integer, and 0.
bool may_vary(const CustomArgument& argument, const expression::StatedNumber& number, DType type) {
  return !is_integer(type) && !argument.fixed &&
         (!number.whole.formula || number.whole.formula->names().empty());
}

// A scalar of a type, all bytes of it 0, those between the fields of a struct too.
Scalar empty_scalar(const std::string& name, const CustomType& type) {
  const TypeLayout layout = layout_of(type);
  return {.name = name,
          .bytes = std::vector<std::byte>(layout.size),
          .type = type.number,
          .parts = type.is_number() ? std::vector<ScalarPart>() : layout.parts};
}

Scalar scalar_of(const CustomArgument& argument, const Constants& sizes) {
  Scalar scalar = empty_scalar(argument.name, argument.type);
  const std::vector<ScalarPart> parts = parts_of(scalar);
  for (std::size_t i = 0; i < parts.size(); ++i)
    put_stated_number(argument.numbers[i], parts[i].type, scope_of_sizes(sizes), argument.mark,
                      parts[i].name.empty() ? argument.name : argument.name + "." + parts[i].name,
                      scalar.bytes.data() + parts[i].offset);
  return scalar;
}

void draw_again(const CustomArgument& argument, std::uint64_t seed, Scalar& scalar) {
  const std::vector<ScalarPart> parts = parts_of(scalar);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto& [name, type, offset] = parts[i];
    if (!may_vary(argument, argument.numbers[i], type)) continue;
    std::byte* const at = scalar.bytes.data() + offset;
    const double stated = get_number(type, at);
    put_number(type, redrawn(argument, stated, name.empty() ? seed : derive_seed(seed, name)), at);
  }
}

Tensor tensor_of(const CustomArgument& argument, const Constants& sizes, std::int64_t& bytes_left) {
  Tensor tensor{.name = argument.name,
                .type = argument.number(),
                .role = *argument.role,
                .dims = {},
                .bytes = {}};
  auto room = bytes_left / (static_cast<std::int64_t>(size_of(tensor.type)) * argument.type.lanes);
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
  if (argument.type.lanes > 1) tensor.dims.push_back(argument.type.lanes);
  tensor.complex = argument.type.complex;
  tensor.entire = argument.fill.orders_rows();
  const std::int64_t bytes = tensor.elements() * static_cast<std::int64_t>(size_of(tensor.type));
  tensor.constant = argument.constant;
  if (argument.constant && bytes > kMostConstant)
    throw UserError(fmt::format("{}'{}' takes {} bytes for {}: constant memory has {}",
                                prefix(argument.mark), argument.name, bytes, to_json(sizes),
                                kMostConstant));
  bytes_left -= bytes;
  if (is_given(tensor.role)) at_sizes(argument.fill, tensor, sizes);
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
      draw_again(argument, seed, scalar);
    }
  const TensorDraw draw(spec, inputs, seed);
  for (Tensor& tensor : instance.tensors) {
    if (!is_given(tensor.role)) continue;
    const Distribution& fill =
        std::ranges::find(spec.arguments, tensor.name, &CustomArgument::name)->fill;
    if (fill.kind == Distribution::Kind::file)
      tensor.bytes = array_bytes(spec, fill.file, tensor);
    else
      draw.fill(tensor, at_sizes(fill, tensor, sizes));
  }
  return instance;
}

void read_numbers(DType type, std::span<const std::byte> bytes, std::span<double> numbers) {
  // What most are, without asking each of its type.
  if (type == DType::f64)
    return copy_bytes(bytes.first(numbers.size_bytes()), std::as_writable_bytes(numbers));
  if (type == DType::f32) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      float number = 0;
      std::memcpy(&number, bytes.data() + i * sizeof number, sizeof number);
      numbers[i] = static_cast<double>(number);
    }
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

std::vector<std::byte> widened(DType type, std::span<const std::byte> bytes,
                               std::vector<std::byte> made) {
  const std::size_t size = size_of(type), count = bytes.size() / size;
  if (made.size() != count * sizeof(double)) made = large_zeros<std::byte>(count * sizeof(double));
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

Tensor with_contents(const Tensor& tensor, DType type, std::vector<std::byte> bytes) {
  return {.name = tensor.name,
          .type = type,
          .role = tensor.role,
          .dims = tensor.dims,
          .bytes = std::move(bytes),
          .axes = tensor.axes,
          .constant = tensor.constant,
          .complex = tensor.complex,
          .entire = tensor.entire};
}

Instance widened(const CustomSpec& spec, const Instance& instance, Instance memory) {
  memory.tensors.resize(instance.tensors.size());
  Instance wide{.shape = instance.shape,
                .inputs = instance.inputs,
                .seed = instance.seed,
                .tensors = {},
                .scalars = instance.scalars};
  for (std::size_t i = 0; i < instance.tensors.size(); ++i) {
    const Tensor& tensor = instance.tensors[i];
    const bool widens = !is_integer(tensor.type);
    auto& again = memory.tensors[i].bytes;
    wide.tensors.push_back(with_contents(
        tensor, widens ? DType::f64 : tensor.type,
        widens ? widened(tensor.type, tensor.bytes, std::move(again)) : tensor.bytes));
  }
  for (Scalar& scalar : wide.scalars) {
    const auto& argument = *std::ranges::find(spec.arguments, scalar.name, &CustomArgument::name);
    Scalar made = empty_scalar(scalar.name, widened(argument.type));
    const std::vector<ScalarPart> from = parts_of(scalar), to = parts_of(made);
    for (std::size_t i = 0; i < from.size(); ++i) {
      const std::byte* const number = scalar.bytes.data() + from[i].offset;
      if (is_integer(from[i].type))
        put_integer(to[i].type, get_integer(from[i].type, number),
                    made.bytes.data() + to[i].offset);
      else
        put_number(to[i].type, get_number(from[i].type, number), made.bytes.data() + to[i].offset);
    }
    scalar = std::move(made);
  }
  return wide;
}

}  // namespace fa_tune::problem
