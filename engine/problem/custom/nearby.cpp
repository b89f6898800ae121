#include "engine/problem/custom/nearby.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/parallel.hpp"
#include "engine/base/random.hpp"
#include "engine/problem/custom/inputs.hpp"

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

// value(old, random) for each.
template <typename Value>
void change(Tensor& tensor, const Distribution& fill, std::uint64_t seed, const Value& value) {
  const auto count = static_cast<std::size_t>(tensor.elements());
  const std::size_t size = size_of(tensor.type);
  in_parallel((count + kElementsDrawn - 1) / kElementsDrawn, [&](std::size_t piece) {
    Random random(derive_seed(seed, tensor.name, piece));
    for (std::size_t i = piece * kElementsDrawn; i < std::min((piece + 1) * kElementsDrawn, count);
         ++i) {
      std::byte* const at = tensor.bytes.data() + i * size;
      const double old = get_number(tensor.type, at);
      put_number(tensor.type, within(fill, old, value(old, random)), at);
    }
  });
}

}  // namespace

Instance nearby(const CustomSpec& spec, Instance wide, Move how, std::uint64_t seed) {
  for (Tensor& tensor : wide.tensors)
    if (const Distribution* fill = moving(spec, tensor))
      change(tensor, *fill, derive_seed(seed, "nearby"), [how](double old, Random& random) {
        if (how == Move::each) return old * (1 - kLastPlace * random.uniform());
        return std::abs(old) < kLeastNormal ? 0 : old * (1 - kLastPlace * kUsualShare);
      });
  return wide;
}

Instance redrawn(const CustomSpec& spec, Instance instance, std::uint64_t seed) {
  for (Tensor& tensor : instance.tensors) {
    const double most = low_bits(tensor.type);
    if (const Distribution* fill = moving(spec, tensor))
      change(tensor, *fill, derive_seed(seed, "redrawn"),
             [most](double old, Random& random) { return old * (1 - most * random.uniform()); });
  }
  return instance;
}

}  // namespace fa_tune
