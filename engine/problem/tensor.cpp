#include "engine/problem/problem.hpp"

namespace fa_tune {

std::size_t size_of(DType type) {
  switch (type) {
    case DType::e4m3:
      return 1;
    case DType::f16:
    case DType::bf16:
      return 2;
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::f64:
      return 8;
  }
  return 0;
}

std::int64_t Tensor::elements() const {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  return count;
}

std::vector<Constants> Problem::hidden_shapes(std::uint64_t) const { return {}; }

Instance Problem::outline(const Constants& shape) const {
  Instance made = make(shape, Inputs::normal, 0);
  for (Tensor& tensor : made.tensors) tensor.bytes.clear();
  return made;
}

std::string to_text(Inputs inputs) {
  switch (inputs) {
    case Inputs::normal:
      return "normal";
    case Inputs::tripled:
      return "tripled";
    case Inputs::small:
      return "small";
    case Inputs::negated:
      return "negated";
    case Inputs::large_logits:
      return "large_logits";
    case Inputs::distinct_rows:
      return "distinct_rows";
    case Inputs::rare:
      return "rare";
    case Inputs::extreme:
      return "extreme";
  }
  return "unknown";
}

}  // namespace fa_tune
