#include "engine/problem/custom/nearby.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "engine/problem/custom/inputs.hpp"
#include "engine/util/bytes.hpp"
#include "engine/util/parallel.hpp"
#include "engine/util/random.hpp"

namespace fa_tune {
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
    case DType::f32:
    case DType::f64:
    case DType::i32:
      break;
  }
  return 0x1p-12;
}

// What a tensor was drawn from, if it moves.
const Distribution* moving(const CustomSpec& spec, const Tensor& tensor) {
  using Kind = Distribution::Kind;
  const auto& fill = std::ranges::find(spec.arguments, tensor.name, &CustomArgument::name)->fill;
  const bool drawn = fill.kind == Kind::normal || fill.kind == Kind::uniform;
  return is_given(tensor.role) && tensor.type != DType::i32 && drawn ? &fill : nullptr;
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

Instance redrawn(const CustomSpec& spec, Instance instance, std::uint64_t seed) {
  for (Tensor& tensor : instance.tensors) {
    const double most = low_bits(tensor.type);
    if (const Distribution* fill = moving(spec, tensor))
      change(tensor, tensor, *fill, derive_seed(seed, "redrawn"),
             [most](double old, Random& random) { return old * (1 - most * random.uniform()); });
  }
  return instance;
}

}  // namespace fa_tune
