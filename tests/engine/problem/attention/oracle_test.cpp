#include "engine/problem/attention/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "engine/problem/attention/attention.hpp"
#include "engine/problem/attention/precision.hpp"
#include "engine/util/half.hpp"

namespace fa_tune::test {

using namespace fa_tune::problem;

namespace {

constexpr Inputs kAllInputs[] = {Inputs::normal,  Inputs::tripled,      Inputs::small,
                                 Inputs::negated, Inputs::large_logits, Inputs::distinct_rows};

// Element i of Q, K or V (tensors 0, 1, 2); with e4m3 its scale is in tensor 4, 5 or 6.
double at(const Instance& instance, std::size_t tensor, std::int64_t i) {
  const Tensor& held = instance.tensors[tensor];
  if (held.type == DType::e4m3) {
    const AttentionShape s = AttentionShape::from(instance.shape);
    const Tensor& scales = instance.tensors[tensor + 4];
    const std::int64_t heads = scales.dims[1], blocks = scales.dims[2];
    const std::int64_t length = held.elements() / (s.B * heads * s.D), row = i / s.D;
    const bool packed = s.layout == Layout::BSHD;
    const std::int64_t head = packed ? row / heads / length * heads + row % heads : row / length;
    const std::int64_t position = packed ? row / heads % length : row % length;
    float scale = 0;
    std::memcpy(&scale, scales.bytes.data() + 4 * (head * blocks + position / s.scale_rows), 4);
    return static_cast<double>(from_e4m3(static_cast<std::uint8_t>(held.bytes[i]))) *
           static_cast<double>(scale);
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, held.bytes.data() + 2 * i, 2);
  return static_cast<double>(held.type == DType::bf16 ? from_bf16(bits) : from_f16(bits));
}

long double slope_of(const Instance& instance, std::int64_t head) {
  float slope = 0;
  std::memcpy(&slope, instance.tensors.back().bytes.data() + 4 * head, sizeof slope);
  return slope;
}

// Where element d of a row lies, written out for both layouts.
std::int64_t place(const AttentionShape& s, std::int64_t heads, std::int64_t length,
                   std::int64_t batch, std::int64_t head, std::int64_t position, std::int64_t d) {
  if (s.layout == Layout::BHSD) return ((batch * heads + head) * length + position) * s.D + d;
  return ((batch * length + position) * heads + head) * s.D + d;
}

struct BookRow {
  std::vector<long double> output;
  long double lse = 0;
};

// The formula as a book has it, one element at a time in long double.
BookRow by_the_book(const AttentionShape& s, const Instance& in, std::int64_t batch,
                    std::int64_t head, std::int64_t q) {
  const std::int64_t kv_head = head / (s.H / s.kv_heads());
  const auto stands_at = s.alignment == CausalAlignment::bottom_right ? q + s.Lk - s.Lq : q;
  std::vector<long double> logits;
  std::vector<std::int64_t> keys;
  long double highest = -1e30L;
  for (std::int64_t key = 0; key < s.Lk; ++key) {
    if (s.causal && key > stands_at) continue;
    if (s.window_left >= 0 && key < stands_at - s.window_left) continue;
    if (s.window_right >= 0 && key > stands_at + s.window_right) continue;
    long double score = 0;
    for (std::int64_t i = 0; i < s.D; ++i)
      score += at(in, 0, place(s, s.H, s.Lq, batch, head, q, i)) *
               at(in, 1, place(s, s.kv_heads(), s.Lk, batch, kv_head, key, i));
    score *= static_cast<float>(1 / std::sqrt(static_cast<double>(s.D)));
    if (s.softcap > 0) score = s.softcap * std::tanh(score / s.softcap);
    if (s.alibi)
      score -= slope_of(in, head) * static_cast<long double>(std::abs(q + s.Lk - s.Lq - key));
    logits.push_back(score);
    keys.push_back(key);
    highest = std::max(highest, score);
  }
  BookRow row{.output = std::vector<long double>(static_cast<std::size_t>(s.D)),
              .lse = -std::numeric_limits<long double>::infinity()};
  if (keys.empty()) return row;
  long double sum = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const long double p = std::exp(logits[i] - highest);
    sum += p;
    for (std::int64_t d = 0; d < s.D; ++d)
      row.output[d] += p * at(in, 2, place(s, s.kv_heads(), s.Lk, batch, kv_head, keys[i], d));
  }
  for (long double& value : row.output) value /= sum;
  row.lse = highest + std::log(sum);
  return row;
}

// The largest differences between the oracle and the book, of O and of LSE.
std::pair<double, double> worst_differences(const AttentionShape& s, Inputs inputs) {
  const AttentionProblem problem(s);
  const Instance in = problem.make(problem.shape(), inputs, 11);
  const AttentionTruth truth = attention_oracle(s, in, RowSample::all(s));
  long double output = 0, lse = 0;
  for (std::int64_t row = 0; row < s.B * s.H * s.Lq; ++row) {
    const BookRow book = by_the_book(s, in, row / s.Lq / s.H, row / s.Lq % s.H, row % s.Lq);
    for (std::int64_t d = 0; d < s.D; d += 5)
      output = std::max(output, std::abs(truth.exact[row * s.D + d] - book.output[d]));
    if (std::isinf(book.lse))
      CHECK(truth.lse_exact[row] == static_cast<double>(book.lse));
    else
      lse = std::max(lse, std::abs(truth.lse_exact[row] - book.lse));
  }
  return {static_cast<double>(output), static_cast<double>(lse)};
}

}  // namespace

TEST_CASE("oracle: agrees with the formula in long double, for every kind of input and mask") {
  for (const bool causal : {false, true}) {
    for (const auto alignment : {CausalAlignment::top_left, CausalAlignment::bottom_right}) {
      for (const Inputs inputs : kAllInputs) {
        const AttentionShape s{.B = 2,
                               .H = 3,
                               .Lq = 37,
                               .Lk = causal ? 21 : 70,
                               .D = 24,
                               .causal = causal,
                               .alignment = alignment,
                               .dtype = inputs == Inputs::small ? DType::bf16 : DType::f16};
        const auto [output, lse] = worst_differences(s, inputs);
        CHECK(output < 1e-12);
        CHECK(lse < 1e-11);
      }
    }
  }
}

TEST_CASE("oracle: agrees with the formula in long double, for every feature alone and together") {
  const AttentionShape plain{.B = 2, .H = 6, .Lq = 37, .Lk = 21, .D = 24};
  std::vector<AttentionShape> shapes(8, plain);
  shapes[0].Hkv = 2;
  shapes[1].layout = Layout::BSHD;
  shapes[2].window_left = 5;
  shapes[3].window_right = 3;
  shapes[4].softcap = 4;
  shapes[5].alibi = true;
  AttentionShape& all = shapes[6];
  all.Hkv = 3;
  all.layout = Layout::BSHD;
  all.window_left = 9;
  all.softcap = 10;
  all.alibi = true;
  all.causal = true;
  shapes[7] = all;
  shapes[7].dtype = DType::e4m3;
  shapes[7].scale_rows = 16;
  for (AttentionShape shape : shapes) {
    for (const auto alignment : {CausalAlignment::top_left, CausalAlignment::bottom_right}) {
      shape.alignment = alignment;
      for (const std::int64_t Lk : {21, 70}) {
        shape.Lk = Lk;
        const auto [output, lse] = worst_differences(shape, Inputs::tripled);
        CHECK(output < 1e-12);
        CHECK(lse < 1e-11);
      }
    }
  }
}

TEST_CASE("tolerance: the trusted computation passes, and the noise predicts its error") {
  for (const Inputs inputs : kAllInputs) {
    const AttentionShape s{.B = 1, .H = 4, .Lq = 96, .Lk = 150, .D = 32};
    const AttentionProblem problem(s);
    const Instance in = problem.make(problem.shape(), inputs, 5);
    const AttentionTruth truth = attention_oracle(s, in, RowSample::all(s));
    const Expectation expected = problem.expect(in, Truth::usual)[0];
    double scaled = 0, worst = 0;
    for (std::size_t i = 0; i < truth.exact.size(); ++i) {
      const double ratio = std::abs(truth.trusted[i] - truth.exact[i]) / expected.bound[i];
      worst = std::max(worst, ratio);
      scaled += ratio * ratio;
    }
    scaled = std::sqrt(scaled / static_cast<double>(truth.exact.size()));
    INFO(to_text(inputs));
    CHECK(worst < 0.7);
    CHECK(scaled < expected.scaled_rms_bound);
    // An eighth of the bound is one standard deviation. Rounding P shows least where one p, which
    // is 1 exactly, is all there is.
    CHECK(scaled * 8 > 0.3);
    CHECK(scaled * 8 < 1.1);
    CHECK(*expected.rms_bound < 0.002);
  }
}

TEST_CASE("tolerance: the same of e4m3") {
  for (const Inputs inputs : kAllInputs) {
    const AttentionShape s{
        .B = 1, .H = 4, .Lq = 96, .Lk = 150, .D = 64, .dtype = DType::e4m3, .scale_rows = 32};
    const AttentionProblem problem(s);
    const Instance in = problem.make(problem.shape(), inputs, 5);
    const AttentionTruth truth = attention_oracle(s, in, RowSample::all(s));
    const Expectation expected = problem.expect(in, Truth::usual)[0];
    double scaled = 0, worst = 0;
    for (std::size_t i = 0; i < truth.exact.size(); ++i) {
      const double ratio = std::abs(truth.trusted[i] - truth.exact[i]) / expected.bound[i];
      worst = std::max(worst, ratio);
      scaled += ratio * ratio;
    }
    scaled = std::sqrt(scaled / static_cast<double>(truth.exact.size()));
    INFO(to_text(inputs) << " " << worst << " " << scaled * 8 << " " << *expected.rms_bound);
    CHECK(worst < 0.7);
    CHECK(scaled < expected.scaled_rms_bound);
    // A flat row's p are all close to 2^8, a number of e4m3, while another kernel's reference may
    // put them in the middle between two.
    CHECK(scaled * 8 > (inputs == Inputs::small ? 0.02 : 0.15));
    CHECK(scaled * 8 < 1.1);
    CHECK(*expected.rms_bound < 0.12);
  }
}

TEST_CASE("tolerance: e4m3's sums are cut off as Hopper's tensor cores cut them") {
  // 1 + 2^-14 keeps 13 bits; 3 * 2^-14 have a bit in reach; towards zero, whatever the sign.
  const std::vector<float> ones(32, 1.0F);
  std::vector<float> terms(32, 0.0F);
  const auto sum = [&] {
    float out = 0;
    add_rows_cut_off(&out, 1, ones.data(), 32, terms.data());
    return out;
  };
  terms[3] = 1;
  terms[20] = 0x1p-14F;
  CHECK(sum() == 1);
  terms[20] = -0x1.8p-13F;
  CHECK(sum() == 1 - 0x1p-13F);
  terms[3] = -1;
  terms[20] = 3 * 0x1p-14F;
  CHECK(sum() == -1 + 0x1p-13F);
  // The sum of 16383 needs 14 bits, of 16385 one more.
  std::fill(terms.begin(), terms.end(), 512.0F);
  terms[0] = 511;
  CHECK(sum() == 16383);
  terms[0] = 513;
  CHECK(sum() == 16384);
}

TEST_CASE("attention: a scale is one block's, and no two are much alike") {
  const AttentionShape s{
      .B = 1, .H = 2, .Lq = 70, .Lk = 100, .D = 32, .dtype = DType::e4m3, .scale_rows = 32};
  const AttentionProblem problem(s);
  const Instance in = problem.make(problem.shape(), Inputs::normal, 1);
  CHECK(in.tensors[3].type == DType::bf16);
  CHECK(in.tensors[5].name == "K_scale");
  CHECK(in.tensors[5].dims == std::vector<std::int64_t>{1, 2, 4});
  std::vector<float> scales(8);
  std::memcpy(scales.data(), in.tensors[5].bytes.data(), 32);
  std::sort(scales.begin(), scales.end());
  CHECK(scales.front() > 0);
  CHECK(scales.back() > 1.8F * scales.front());
  // Q, K and V a byte an element, O two, 4 bytes for each of 2 * (3 + 4 + 4) scales.
  CHECK(problem.bytes(problem.shape()) == 2 * 32 * (70 + 2 * 100 + 2 * 70) + 4 * 22);
}

TEST_CASE("attention: V's scales of one head are powers of two apart, where that is promised") {
  AttentionShape s{
      .B = 1, .H = 2, .Lq = 70, .Lk = 200, .D = 32, .dtype = DType::e4m3, .scale_rows = 16};
  const auto scales_of_v = [&] {
    const AttentionProblem problem(s);
    const Instance in = problem.make(problem.shape(), Inputs::normal, 1);
    CHECK(in.tensors[6].name == "V_scale");
    std::vector<float> scales(2 * 13);
    std::memcpy(scales.data(), in.tensors[6].bytes.data(), 4 * scales.size());
    return scales;
  };
  const auto apart = [&](const std::vector<float>& scales, std::size_t head) {
    std::set<int> powers;
    for (std::size_t block = 0; block < 13; ++block) {
      int power = 0;
      const float ratio = std::frexp(scales[head * 13 + block] / scales[head * 13], &power);
      if (ratio != 0.5F) return std::set<int>{};
      powers.insert(power);
    }
    return powers;
  };
  CHECK(apart(scales_of_v(), 0).empty());
  s.v_powers_of_two = true;
  const std::vector<float> scales = scales_of_v();
  CHECK(apart(scales, 0).size() > 1);
  CHECK(apart(scales, 1).size() > 1);
  int power = 0;
  CHECK(std::frexp(scales[13] / scales[0], &power) != 0.5F);  // each head has its own mantissa
}

TEST_CASE("tolerance: the trusted LSE passes, a missed key of a hundredth does not") {
  for (const Inputs inputs : kAllInputs) {
    const AttentionShape s{
        .B = 1, .H = 4, .Lq = 96, .Lk = 150, .D = 128, .lse = true, .softcap = 50, .alibi = true};
    const AttentionProblem problem(s);
    const Instance in = problem.make(problem.shape(), inputs, 5);
    const AttentionTruth truth = attention_oracle(s, in, RowSample::all(s));
    const Expectation expected = problem.expect(in, Truth::usual)[1];
    CHECK(expected.tensor == "LSE");
    for (std::size_t row = 0; row < truth.lse_exact.size(); ++row) {
      CHECK(std::abs(static_cast<double>(truth.lse_trusted[row]) - truth.lse_exact[row]) <
            0.3 * expected.bound[row]);
      CHECK(expected.bound[row] < 0.001);
    }
  }
}

TEST_CASE("tolerance: of an LSE in e4m3") {
  for (const Inputs inputs : kAllInputs) {
    if (inputs == Inputs::tripled || inputs == Inputs::large_logits)
      continue;  // scores 9 times as large, or 40
    const AttentionShape s{.B = 1,
                           .H = 4,
                           .Lq = 96,
                           .Lk = 150,
                           .D = 64,
                           .dtype = DType::e4m3,
                           .lse = true,
                           .scale_rows = 32};
    const AttentionProblem problem(s);
    const Instance in = problem.make(problem.shape(), inputs, 5);
    const AttentionTruth truth = attention_oracle(s, in, RowSample::all(s));
    const Expectation expected = problem.expect(in, Truth::usual)[1];
    for (std::size_t row = 0; row < truth.lse_exact.size(); ++row) {
      CHECK(std::abs(static_cast<double>(truth.lse_trusted[row]) - truth.lse_exact[row]) <
            0.5 * expected.bound[row]);
      CHECK(expected.bound[row] < 0.007);  // a missed key of a hundredth shows
    }
  }
}

TEST_CASE("tolerance: scales with the output and is 0 where a row sees nothing") {
  const AttentionShape s{.B = 1,
                         .H = 1,
                         .Lq = 40,
                         .Lk = 16,
                         .D = 16,
                         .causal = true,
                         .alignment = CausalAlignment::bottom_right};
  const AttentionProblem problem(s);
  const Expectation normal =
      problem.expect(problem.make(problem.shape(), Inputs::normal, 1), Truth::usual)[0];
  const Expectation small =
      problem.expect(problem.make(problem.shape(), Inputs::small, 1), Truth::usual)[0];
  for (std::size_t i = 0; i < 24 * 16; ++i) {
    CHECK(normal.exact[i] == 0);
    CHECK(normal.bound[i] == 0);
  }
  for (std::size_t i = 24 * 16; i < 40 * 16; ++i) {
    CHECK(normal.bound[i] > 0);
    CHECK(normal.bound[i] < 0.02);
    CHECK(small.bound[i] < 0.0003);
  }
}

TEST_CASE("tolerance: bf16 allows eight times what fp16 does") {
  AttentionShape s{.B = 1, .H = 1, .Lq = 32, .Lk = 64, .D = 32};
  const auto bound_of = [&] {
    const AttentionProblem problem(s);
    return problem.expect(problem.make(problem.shape(), Inputs::normal, 1), Truth::usual)[0]
        .rms_bound.value();
  };
  const double fp16 = bound_of();
  s.dtype = DType::bf16;
  CHECK(bound_of() / fp16 == doctest::Approx(8).epsilon(0.1));
}

}  // namespace fa_tune::test
