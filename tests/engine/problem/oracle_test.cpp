#include <cmath>
#include <cstring>

#include <doctest/doctest.h>

#include "engine/base/half.hpp"
#include "engine/problem/attention.hpp"
#include "engine/problem/attention_oracle.hpp"

using namespace fa_tune;

namespace {

constexpr Inputs all_inputs[] = {Inputs::normal,  Inputs::tripled,      Inputs::small,
                                 Inputs::negated, Inputs::large_logits, Inputs::distinct_rows};

double at(const Instance& instance, std::size_t tensor, std::int64_t i) {
  const Tensor& held = instance.tensors[tensor];
  std::uint16_t bits = 0;
  std::memcpy(&bits, held.bytes.data() + 2 * i, 2);
  return static_cast<double>(held.type == DType::bf16 ? from_bf16(bits) : from_f16(bits));
}

// The formula as a book has it, one element at a time in long double.
double by_the_book(const AttentionShape& s, const Instance& in, std::int64_t head, std::int64_t q,
                   std::int64_t d) {
  std::vector<long double> logits;
  long double highest = -1e30L;
  for (std::int64_t key = 0; key < s.visible_keys(q); ++key) {
    long double score = 0;
    for (std::int64_t i = 0; i < s.D; ++i)
      score += at(in, 0, (head * s.Lq + q) * s.D + i) * at(in, 1, (head * s.Lk + key) * s.D + i);
    logits.push_back(score * static_cast<float>(1 / std::sqrt(static_cast<double>(s.D))));
    highest = std::max(highest, logits.back());
  }
  long double sum = 0, weighted = 0;
  for (std::size_t key = 0; key < logits.size(); ++key) {
    const long double p = std::exp(logits[key] - highest);
    sum += p;
    weighted += p * at(in, 2, (head * s.Lk + static_cast<std::int64_t>(key)) * s.D + d);
  }
  return logits.empty() ? 0 : static_cast<double>(weighted / sum);
}

}  // namespace

TEST_CASE("oracle: agrees with the formula in long double, for every kind of input and mask") {
  for (const bool causal : {false, true}) {
    for (const auto alignment : {CausalAlignment::top_left, CausalAlignment::bottom_right}) {
      for (const Inputs inputs : all_inputs) {
        const AttentionShape s{.B = 2,
                               .H = 3,
                               .Lq = 37,
                               .Lk = causal ? 21 : 70,
                               .D = 24,
                               .causal = causal,
                               .alignment = alignment,
                               .dtype = inputs == Inputs::small ? DType::bf16 : DType::f16};
        const AttentionProblem problem(s);
        const Instance in = problem.make(problem.shape(), inputs, 11);
        const AttentionTruth truth = attention_oracle(s, in);
        double worst = 0;
        for (std::int64_t row = 0; row < s.B * s.H * s.Lq; ++row)
          for (std::int64_t d = 0; d < s.D; d += 5) {
            const double book = by_the_book(s, in, row / s.Lq, row % s.Lq, d);
            worst = std::max(worst, std::abs(truth.exact[row * s.D + d] - book));
          }
        CHECK(worst < 1e-12);
      }
    }
  }
}

TEST_CASE("tolerance: the trusted computation passes, and the noise predicts its error") {
  for (const Inputs inputs : all_inputs) {
    const AttentionShape s{.B = 1, .H = 4, .Lq = 96, .Lk = 150, .D = 32};
    const AttentionProblem problem(s);
    const Instance in = problem.make(problem.shape(), inputs, 5);
    const AttentionTruth truth = attention_oracle(s, in);
    const Expectation expected = problem.expect(in)[0];
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
    CHECK(expected.rms_bound < 0.002);
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
  const Expectation normal = problem.expect(problem.make(problem.shape(), Inputs::normal, 1))[0];
  const Expectation small = problem.expect(problem.make(problem.shape(), Inputs::small, 1))[0];
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
    return problem.expect(problem.make(problem.shape(), Inputs::normal, 1))[0].rms_bound;
  };
  const double fp16 = bound_of();
  s.dtype = DType::bf16;
  CHECK(bound_of() / fp16 == doctest::Approx(8).epsilon(0.1));
}
