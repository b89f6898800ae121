#include "engine/problem/custom/nearby.hpp"

#include <algorithm>
#include <cstring>

#include "engine/base/parallel.hpp"
#include "engine/base/random.hpp"

namespace fa_tune {
namespace {

constexpr double kLastPlace = 0x1p-23;                        // of a float, relative to it, at most
constexpr std::size_t kElementsDrawn = std::size_t{1} << 20;  // with a seed of their own

void move(Tensor& tensor, std::uint64_t seed) {
  const auto count = static_cast<std::size_t>(tensor.elements());
  in_parallel((count + kElementsDrawn - 1) / kElementsDrawn, [&](std::size_t piece) {
    Random random(derive_seed(seed, "nearby " + tensor.name, piece));
    for (std::size_t i = piece * kElementsDrawn; i < std::min((piece + 1) * kElementsDrawn, count);
         ++i) {
      std::byte* const at = tensor.bytes.data() + i * sizeof(double);
      double value = 0;
      std::memcpy(&value, at, sizeof value);
      value *= 1 - kLastPlace * random.uniform();
      std::memcpy(at, &value, sizeof value);
    }
  });
}

}  // namespace

Instance nearby(const CustomSpec& spec, Instance wide, std::uint64_t seed) {
  using Kind = Distribution::Kind;
  for (Tensor& tensor : wide.tensors) {
    const auto& argument = *std::ranges::find(spec.arguments, tensor.name, &CustomArgument::name);
    const bool drawn = argument.fill.kind == Kind::normal || argument.fill.kind == Kind::uniform;
    if (is_given(tensor.role) && tensor.type == DType::f64 && drawn) move(tensor, seed);
  }
  return wide;
}

}  // namespace fa_tune
