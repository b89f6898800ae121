#include "engine/problem/attention_inputs.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>

#include "engine/base/random.hpp"
#include "engine/problem/attention_elements.hpp"
#include "engine/problem/attention_rows.hpp"

namespace fa_tune {
namespace {

template <typename T>
Scalar scalar(const std::string& name, T value) {
  Scalar made{.name = name, .bytes = std::vector<std::byte>(sizeof value)};
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

// One for each head, from 1/2 to 1/256 as in the paper (Press et al. 2021), but drawn: so no head's
// slope stands in for another's.
Tensor alibi_slopes(const AttentionShape& shape, std::uint64_t seed) {
  Tensor made{.name = "alibi_slopes",
              .type = DType::f32,
              .role = Role::input,
              .dims = {shape.H},
              .bytes = std::vector<std::byte>(static_cast<std::size_t>(shape.H) * sizeof(float)),
              .axes = "H"};
  Random random(derive_seed(seed, made.name));
  for (std::size_t head = 0; head < static_cast<std::size_t>(shape.H); ++head) {
    const auto slope = static_cast<float>(std::exp2(-1 - 7 * random.uniform()));
    std::memcpy(made.bytes.data() + head * sizeof slope, &slope, sizeof slope);
  }
  return made;
}

double spread_of(Inputs inputs) {
  switch (inputs) {
    case Inputs::tripled:
      return 3;
    case Inputs::small:
      return 0.01;
    case Inputs::negated:
      return -1;
    default:
      return 1;
  }
}

std::vector<double> draw(const Tensor& tensor, Inputs inputs, std::uint64_t seed) {
  Random random(derive_seed(seed, tensor.name));
  const double spread = spread_of(inputs);
  std::vector<double> values(static_cast<std::size_t>(tensor.elements()));
  for (double& value : values) value = spread * random.normal();
  return values;
}

// Up to three keys a head, anywhere in it, whose logits are about 140 for every query while the
// rest stay within a few: all queries lean towards one direction g (signs, so |g|^2 = D), these
// keys point along it. Their logits differ by about 1, so that their shares are all visible.
void add_dominating_keys(const AttentionShape& shape, std::uint64_t seed,
                         std::vector<double>& queries, std::vector<double>& keys) {
  constexpr double lean = 2;
  const double logit = 140;
  Random random(derive_seed(seed, "dominating keys"));
  const auto D = static_cast<std::size_t>(shape.D);
  std::vector<double> direction(D);
  for (double& sign : direction) sign = random.below(2) == 0 ? -1 : 1;
  for (std::size_t i = 0; i < queries.size(); ++i) queries[i] += lean * direction[i % D];

  const auto Lk = static_cast<std::size_t>(shape.Lk);
  const RowOrder rows = key_rows(shape);
  for (std::size_t head = 0; head < static_cast<std::size_t>(shape.B * shape.kv_heads()); ++head) {
    for (int n = 0; n < 3; ++n) {
      const std::size_t key = rows(head, random.below(Lk));
      // scale * lean * length * D = logit, with scale = 1/sqrt(D)
      const double length = (logit + n) / (lean * std::sqrt(static_cast<double>(D)));
      for (std::size_t d = 0; d < D; ++d) keys[key * D + d] = length * direction[d];
    }
  }
}

// 509 is prime: rows closer than that differ, and the multiplier keeps neighbours far apart.
double row_constant(std::size_t row, std::uint64_t offset) {
  const auto place = static_cast<double>((row * 37 + offset) % 509);
  return (place - 254) / 127;
}

}  // namespace

Instance make_attention(const AttentionShape& shape, Inputs inputs, std::uint64_t seed) {
  Tensor q = tensor("Q", Role::input, shape, query_rows(shape));
  Tensor k = tensor("K", Role::input, shape, key_rows(shape));
  Tensor v = tensor("V", Role::input, shape, key_rows(shape));
  Tensor o = tensor("O", Role::output, shape, query_rows(shape));

  std::vector<double> queries = draw(q, inputs, seed);
  std::vector<double> keys = draw(k, inputs, seed);
  std::vector<double> values = draw(v, inputs, seed);
  if (inputs == Inputs::large_logits) add_dominating_keys(shape, seed, queries, keys);
  if (inputs == Inputs::distinct_rows) {
    const std::uint64_t offset = derive_seed(seed, "distinct rows") % 509;
    const auto D = static_cast<std::size_t>(shape.D);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = row_constant(i / D, offset);
  }
  std::vector<Tensor> scales;
  if (shape.dtype == DType::e4m3) {
    const auto store = [&](Tensor& to, const std::vector<double>& from, const RowOrder& rows,
                           std::int64_t heads, std::int64_t length) {
      scales.push_back(store_scaled(to, from, shape, rows, heads, length, seed));
    };
    store(q, queries, query_rows(shape), shape.H, shape.Lq);
    store(k, keys, key_rows(shape), shape.kv_heads(), shape.Lk);
    store(v, values, key_rows(shape), shape.kv_heads(), shape.Lk);
  } else {
    store_rounded(q, queries);
    store_rounded(k, keys);
    store_rounded(v, values);
  }

  const auto as_int = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
  const auto scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(shape.D)));
  Instance made{.shape = shape.constants(),
                .inputs = inputs,
                .seed = seed,
                .tensors = {std::move(q), std::move(k), std::move(v), std::move(o)},
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
  std::ranges::move(scales, std::back_inserter(made.tensors));
  if (shape.alibi) made.tensors.push_back(alibi_slopes(shape, seed));
  return made;
}

}  // namespace fa_tune
