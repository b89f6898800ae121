#include "engine/problem/custom/arrays.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/problem/custom/inputs.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/util/hash.hpp"
#include "engine/util/npy.hpp"

namespace fa_tune {
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
  std::error_code error;
  const auto most = static_cast<std::uintmax_t>(tensor.elements()) * sizeof(double) + kMostBeyond;
  if (std::filesystem::file_size(at, error) > most && !error)
    throw UserError(fmt::format("{}: is larger than {} can be", at.string(), tensor.name));
  std::string text = read_file(at);
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

}  // namespace fa_tune
