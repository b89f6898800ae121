#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>

#include "engine/problem/attention/attention.hpp"
#include "engine/problem/attention/elements.hpp"
#include "engine/problem/attention/shape.hpp"
#include "engine/util/parallel.hpp"
#include "engine/util/random.hpp"

namespace fa_tune::problem {
namespace {

template <typename T>
Scalar scalar(const std::string& name, T value) {
  Scalar made{.name = name,
              .bytes = std::vector<std::byte>(sizeof value),
              .type = std::is_same_v<T, float> ? DType::f32 : DType::i32};
  std::memcpy(made.bytes.data(), &value, sizeof value);
  return made;
}

Tensor tensor(const std::string& name, Role role, const AttentionShape& shape,
              const RowOrder& rows) {
  return {.name = name,
          .type = role == Role::output ? shape.output_type() : shape.dtype,
          .role = role,
          .dims = rows.dims(shape.D),
          .bytes = {},
          .axes = rows.axes()};
}

constexpr const char* kSlopes = "alibi_slopes";

// One for each head, from 1/2 to 1/256 as in the paper (Press et al. 2021), but drawn: so no head's
// slope stands in for another's.
void draw_slopes(Tensor& slopes, std::uint64_t seed) {
  slopes.bytes.resize(static_cast<std::size_t>(slopes.elements()) * sizeof(float));
  Random random(derive_seed(seed, slopes.name));
  for (std::size_t at = 0; at < slopes.bytes.size(); at += sizeof(float)) {
    const auto slope = static_cast<float>(std::exp2(-1 - 7 * random.uniform()));
    std::memcpy(slopes.bytes.data() + at, &slope, sizeof slope);
  }
}

float spread_of(Inputs inputs) {
  switch (inputs) {
    case Inputs::tripled:
      return 3;
    case Inputs::small:
      return 0.01F;
    case Inputs::negated:
      return -1;
    default:
      return 1;
  }
}

// A tensor's elements before they are rounded to its type. Not zeroed first: of a large one that
// takes longer than drawing it.
class Values {
 public:
  explicit Values(const Tensor& tensor)
      : size_(static_cast<std::size_t>(tensor.elements())),
        memory_(std::make_unique_for_overwrite<float[]>(size_)) {}

  std::span<float> all() const { return {memory_.get(), size_}; }

 private:
  std::size_t size_;
  std::unique_ptr<float[]> memory_;  // NOLINT(modernize-avoid-c-arrays): vector would zero it
};

// In pieces with seeds of their own, so that several threads can draw a large tensor.
Values draw(const Tensor& tensor, Inputs inputs, std::uint64_t seed) {
  Values values(tensor);
  in_pieces(values.all().size(), [&](std::size_t first, std::size_t end) {
    Random random(derive_seed(seed, tensor.name, first));
    fill_normal(random, spread_of(inputs), values.all().subspan(first, end - first));
  });
  return values;
}

// Logits far from zero: all queries lean towards one direction g (signs, so |g|^2 = D). In every
// other head up to three keys, anywhere in it, point along it: their logits are about 140 for every
// query while the rest stay within a few, and differ by about 1, so that their shares are all
// visible. In the heads between all keys lean away from it, so that no logit comes near zero, as
// that of a key which does not exist would be if it counted.
class FarLogits {
 public:
  FarLogits(const AttentionShape& shape, std::uint64_t seed)
      : shape_(shape),
        random_(derive_seed(seed, "far logits")),
        low_(random_.below(2)),
        direction_(static_cast<std::size_t>(shape.D)) {
    for (double& sign : direction_) sign = random_.below(2) == 0 ? -1 : 1;
  }

  void lean(std::span<float> queries) const {
    in_pieces(queries.size(), [&](std::size_t first, std::size_t end) {
      for (std::size_t i = first; i < end; ++i)
        queries[i] += static_cast<float>(kLean * direction_[i % direction_.size()]);
    });
  }

  void place(std::span<float> keys) {
    const auto Lk = static_cast<std::size_t>(shape_.Lk);
    const RowOrder rows = key_rows(shape_);
    for (std::size_t head = 0; head < static_cast<std::size_t>(shape_.B * shape_.kv_heads());
         ++head) {
      if (head % 2 == low_)
        for (std::size_t key = 0; key < Lk; ++key) move(keys, rows(head, key), 1, -kFar);
      else
        for (int n = 0; n < 3; ++n) move(keys, rows(head, random_.below(Lk)), 0, kFar + n);
    }
  }

 private:
  static constexpr double kLean = 2;
  static constexpr double kFar = 140;

  // The key keeps `kept` of itself.
  void move(std::span<float> keys, std::size_t key, float kept, double logit) const {
    const std::size_t D = direction_.size();
    // scale * lean * length * D = logit, with scale = 1/sqrt(D)
    const double length = logit / (kLean * std::sqrt(static_cast<double>(D)));
    for (std::size_t d = 0; d < D; ++d) {
      float& element = keys[key * D + d];
      element = kept * element + static_cast<float>(length * direction_[d]);
    }
  }

  const AttentionShape& shape_;
  Random random_;
  std::size_t low_;  // the parity of the heads whose logits are
  std::vector<double> direction_;
};

// 509 is prime: rows closer than that differ, and the multiplier keeps neighbours far apart.
float row_constant(std::size_t row, std::uint64_t offset) {
  const auto place = static_cast<float>((row * 37 + offset) % 509);
  return (place - 254) / 127;
}

}  // namespace

Instance outline_attention(const AttentionShape& shape) {
  const Tensor q = tensor("Q", Role::input, shape, query_rows(shape));
  const Tensor k = tensor("K", Role::input, shape, key_rows(shape));
  const Tensor v = tensor("V", Role::input, shape, key_rows(shape));
  const auto as_int = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
  const auto scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(shape.D)));
  Instance made{.shape = shape.constants(),
                .tensors = {q, k, v, tensor("O", Role::output, shape, query_rows(shape))},
                .scalars = {scalar("B", as_int(shape.B)), scalar("H", as_int(shape.H)),
                            scalar("Lq", as_int(shape.Lq)), scalar("Lk", as_int(shape.Lk)),
                            scalar("scale", scale), scalar("Hkv", as_int(shape.kv_heads())),
                            scalar("window_left", as_int(shape.window_left)),
                            scalar("window_right", as_int(shape.window_right)),
                            scalar("softcap", static_cast<float>(shape.softcap))}};
  if (shape.lse)
    made.tensors.push_back({.name = "LSE",
                            .type = DType::f32,
                            .role = Role::output,
                            .dims = {shape.B, shape.H, shape.Lq},
                            .bytes = {},
                            .axes = "BHS"});
  if (shape.dtype == DType::e4m3) {
    made.tensors.push_back(scales_beside(q, shape, shape.H, shape.Lq));
    for (const Tensor& each : {k, v})
      made.tensors.push_back(scales_beside(each, shape, shape.kv_heads(), shape.Lk));
  }
  if (shape.alibi)
    made.tensors.push_back({.name = kSlopes,
                            .type = DType::f32,
                            .role = Role::input,
                            .dims = {shape.H},
                            .bytes = {},
                            .axes = "H"});
  return made;
}

Instance make_attention(const AttentionShape& shape, Inputs inputs, std::uint64_t seed) {
  Instance made = outline_attention(shape);
  made.inputs = inputs;
  made.seed = seed;
  const auto find = [&](const std::string& name) -> Tensor& {
    return *std::ranges::find(made.tensors, name, &Tensor::name);
  };
  const auto store = [&](Tensor& to, const Values& values, const RowOrder& rows,
                         std::int64_t length) {
    if (shape.dtype == DType::e4m3)
      store_scaled(to, find(scales_of(to.name)), values.all(), shape, rows, length, seed);
    else
      store_rounded(to, values.all());
  };
  // One after another: as floats a large tensor takes twice its room.
  FarLogits far(shape, seed);
  {
    Tensor& q = find("Q");
    const Values queries = draw(q, inputs, seed);
    if (inputs == Inputs::large_logits) far.lean(queries.all());
    store(q, queries, query_rows(shape), shape.Lq);
  }
  {
    Tensor& k = find("K");
    const Values keys = draw(k, inputs, seed);
    if (inputs == Inputs::large_logits) far.place(keys.all());
    store(k, keys, key_rows(shape), shape.Lk);
  }
  {
    Tensor& v = find("V");
    const Values values = draw(v, inputs, seed);
    if (inputs == Inputs::distinct_rows) {
      const std::uint64_t offset = derive_seed(seed, "distinct rows") % 509;
      const auto D = static_cast<std::size_t>(shape.D);
      const std::span<float> all = values.all();
      in_pieces(all.size(), [&](std::size_t first, std::size_t end) {
        for (std::size_t i = first; i < end; ++i) all[i] = row_constant(i / D, offset);
      });
    }
    store(v, values, key_rows(shape), shape.Lk);
  }
  if (shape.alibi) draw_slopes(find(kSlopes), seed);
  return made;
}

}  // namespace fa_tune::problem
