#include "engine/problem/attention/elements.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "engine/util/half.hpp"
#include "engine/util/parallel.hpp"
#include "engine/util/random.hpp"

namespace fa_tune::problem {
namespace {

constexpr double kLargestE4m3 = 448;

// The least that is not below `value`, which is positive.
double power_of_two_from(double value) {
  int power = 0;
  const double fraction = std::frexp(value, &power);  // from 1/2 on, below 1
  return std::ldexp(1.0, fraction == 0.5 ? power - 1 : power);
}

}  // namespace

std::string scales_of(const std::string& tensor) { return tensor + "_scale"; }

void store_rounded(Tensor& tensor, std::span<const float> values) {
  tensor.bytes.resize(values.size() * 2);
  in_pieces(values.size(), [&](std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) {
      const double value{values[i]};
      const std::uint16_t bits = tensor.type == DType::bf16 ? to_bf16(value) : to_f16(value);
      std::memcpy(tensor.bytes.data() + 2 * i, &bits, 2);
    }
  });
}

Tensor scales_beside(const Tensor& tensor, const AttentionShape& shape, std::int64_t heads,
                     std::int64_t length) {
  return {.name = scales_of(tensor.name),
          .type = DType::f32,
          .role = Role::input,
          .dims = {shape.B, heads, shape.scale_blocks(length)},
          .bytes = {},
          .axes = "BHS"};
}

void store_scaled(Tensor& tensor, Tensor& scales, std::span<const float> values,
                  const AttentionShape& shape, const RowOrder& rows, std::int64_t length,
                  std::uint64_t seed) {
  const auto D = static_cast<std::size_t>(shape.D);
  const auto block_rows = static_cast<std::size_t>(shape.scale_rows);
  scales.bytes.resize(static_cast<std::size_t>(scales.elements()) * sizeof(float));
  tensor.bytes.resize(values.size());
  const auto blocks = static_cast<std::size_t>(shape.scale_blocks(length));
  std::vector<double> rooms(static_cast<std::size_t>(scales.elements()));
  Random random(derive_seed(seed, scales.name));
  for (double& room : rooms) room = std::exp2(2 * random.uniform());
  // Of each head.
  std::vector<double> mantissas(rooms.size() / blocks);
  for (double& mantissa : mantissas) mantissa = std::exp2(random.uniform());
  const bool powers = shape.v_powers_of_two && tensor.name == "V";
  in_parallel(rooms.size(), [&](std::size_t block) {
    const std::size_t head = block / blocks, first = block % blocks * block_rows;
    const std::size_t end = std::min(first + block_rows, static_cast<std::size_t>(length));
    double largest = 0;
    for (std::size_t position = first; position < end; ++position)
      for (std::size_t d = 0; d < D; ++d)
        largest = std::max(largest, double{std::abs(values[rows(head, position) * D + d])});
    double wanted = (largest > 0 ? largest : 1) / kLargestE4m3 * rooms[block];
    if (powers) wanted = mantissas[head] * power_of_two_from(wanted / mantissas[head]);
    const auto scale = static_cast<float>(wanted);
    std::memcpy(scales.bytes.data() + block * sizeof scale, &scale, sizeof scale);
    for (std::size_t position = first; position < end; ++position)
      for (std::size_t d = 0; d < D; ++d) {
        const std::size_t i = rows(head, position) * D + d;
        tensor.bytes[i] = std::byte{to_e4m3(double{values[i]} / double{scale})};
      }
  });
}

const Tensor& find_tensor(const Instance& instance, const std::string& name) {
  return *std::ranges::find(instance.tensors, name, &Tensor::name);
}

Elements::Elements(const AttentionShape& shape, const Instance& instance, const std::string& name)
    : tensor_(find_tensor(instance, name)) {
  if (tensor_.type != DType::e4m3) return;
  const Tensor& scales = find_tensor(instance, scales_of(name));
  scales_.resize(static_cast<std::size_t>(scales.elements()));
  std::memcpy(scales_.data(), scales.bytes.data(), scales.bytes.size());
  blocks_ = static_cast<std::size_t>(scales.dims.back());
  rows_ = static_cast<std::size_t>(shape.scale_rows);
}

void Elements::read(std::size_t first, std::span<float> to) const {
  if (tensor_.type == DType::e4m3) {
    static const std::array<float, 256> numbers = [] {
      std::array<float, 256> made{};
      for (std::size_t i = 0; i < made.size(); ++i)
        made[i] = from_e4m3(static_cast<std::uint8_t>(i));
      return made;
    }();
    for (std::size_t i = 0; i < to.size(); ++i)
      to[i] = numbers[static_cast<std::uint8_t>(tensor_.bytes[first + i])];
    return;
  }
  const std::byte* from = tensor_.bytes.data() + 2 * first;
  const auto bits_at = [from](std::size_t i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, from + 2 * i, sizeof bits);
    return bits;
  };
  if (tensor_.type == DType::bf16)
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = from_bf16(bits_at(i));
  else
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = from_f16(bits_at(i));
}

}  // namespace fa_tune::problem
