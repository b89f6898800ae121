#include "engine/problem/attention/sample.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include "engine/problem/attention/attention.hpp"
#include "engine/problem/attention/oracle.hpp"
#include "engine/problem/attention/shape.hpp"
#include "engine/problem/attention/tolerance.hpp"
#include "engine/problem/attention/value_bounds.hpp"

namespace fa_tune::test {

using namespace fa_tune::problem;

namespace {

constexpr Inputs kSampledInputs[] = {Inputs::normal,  Inputs::tripled,      Inputs::small,
                                     Inputs::negated, Inputs::large_logits, Inputs::distinct_rows};

AttentionShape square(std::int64_t B, std::int64_t H, std::int64_t L, std::int64_t D) {
  return {.B = B, .H = H, .Lq = L, .Lk = L, .D = D};
}

// Small shapes with every mask and layout, for which a small cap makes samples.
std::vector<AttentionShape> small_shapes() {
  const AttentionShape plain{.B = 2, .H = 2, .Lq = 200, .Lk = 150, .D = 24};
  std::vector<AttentionShape> shapes(7, plain);
  shapes[1].causal = true;
  shapes[1].alignment = CausalAlignment::bottom_right;
  shapes[2].window_left = 20;
  shapes[2].window_right = 5;
  shapes[3].layout = Layout::BSHD;
  shapes[3].Hkv = 1;
  shapes[3].causal = true;
  shapes[4].lse = true;
  shapes[4].alibi = true;
  shapes[4].softcap = 8;
  shapes[5].lse = true;
  shapes[5].causal = true;
  shapes[5].alignment = CausalAlignment::bottom_right;
  shapes[6].dtype = DType::e4m3;
  shapes[6].scale_rows = 32;
  shapes[6].layout = Layout::BSHD;
  return shapes;
}

}  // namespace

TEST_CASE("sample: every shape of the suites has all of its rows") {
  for (const std::int64_t D : {32, 64}) {
    const AttentionProblem problem(square(1, 8, 512, D));
    for (const Suite& suite : problem.suites())
      for (const Constants& shape : suite.shapes) {
        const Coverage coverage = problem.coverage(shape, Truth::usual);
        CHECK(coverage.every == 1);
        CHECK(coverage.rows == coverage.of);
      }
  }
  const AttentionProblem wide(square(1, 8, 512, 256));
  for (const Suite& suite : wide.suites())
    for (const Constants& shape : suite.shapes)
      CHECK(wide.coverage(shape, Truth::usual).every <= 4);
}

TEST_CASE("sample: of many short rows no more is known than of few long ones") {
  const AttentionProblem many(square(32, 32, 512, 64));
  const Coverage coverage = many.coverage(many.shape(), Truth::usual);
  CHECK(coverage.every == 16);
  // Every sixteenth, and two edges of each head.
  CHECK(coverage.rows <= 32 * 32 * (512 / 16 + 2));
  CHECK(many.coverage(many.shape(), Truth::thorough).every == 4);
}

TEST_CASE("sample: of a long shape one row at least of every 64 of every head, and its edges") {
  for (const bool causal : {false, true}) {
    AttentionShape shape = square(1, 16, 16384, 128);
    shape.causal = causal;
    const RowSample rows = RowSample::drawn(shape, 7);
    CHECK(rows.stride() <= 64);
    CHECK(rows.heads() == 16);
    for (std::size_t head = 0; head < rows.heads(); ++head) {
      const auto positions = rows.of_head(head);
      CHECK(std::ranges::is_sorted(positions));
      CHECK(positions.front() == 0);
      CHECK(positions.back() == 16383);
      std::set<std::uint32_t> tiles;
      for (const std::uint32_t position : positions) tiles.insert(position / 64);
      CHECK(tiles.size() == 256);
    }
    const AttentionProblem problem(shape);
    const Coverage usual = problem.coverage(problem.shape(), Truth::usual);
    CHECK(usual.of == 16 * 16384);
    // A drawn row may be an edge as well.
    CHECK(std::abs(usual.rows - static_cast<std::int64_t>(rows.size())) <= 16);
    CHECK(problem.coverage(problem.shape(), Truth::thorough).rows > 3 * usual.rows);
  }
}

TEST_CASE("sample: a seed names the rows, another draws others; heads have their own") {
  const AttentionShape shape = square(1, 4, 4096, 128);
  const auto drawn = [&](std::uint64_t seed, std::size_t head) {
    const RowSample rows = RowSample::drawn(shape, seed, work_of_rows(shape) / 32);
    const auto positions = rows.of_head(head);
    return std::vector(positions.begin(), positions.end());
  };
  CHECK(drawn(1, 0) == drawn(1, 0));
  CHECK(drawn(1, 0) != drawn(2, 0));
  CHECK(drawn(1, 0) != drawn(1, 1));
}

TEST_CASE("sample: both sides of where something of what a row sees changes") {
  const auto has = [](const AttentionShape& shape, std::vector<std::uint32_t> wanted) {
    const RowSample rows = RowSample::drawn(shape, 3, work_of_rows(shape) / 64);
    const auto positions = rows.of_head(0);
    return std::ranges::all_of(wanted, [&](std::uint32_t position) {
      return std::ranges::find(positions, position) != positions.end();
    });
  };
  AttentionShape shape{.B = 1, .H = 1, .Lq = 512, .Lk = 300, .D = 16, .causal = true};
  CHECK(has(shape, {0, 298, 299, 511}));  // from row 299 on all keys are seen
  shape.alignment = CausalAlignment::bottom_right;
  CHECK(has(shape, {0, 211, 212, 511}));  // row 212 is the first that sees one
  shape.causal = false;
  shape.alignment = CausalAlignment::top_left;
  shape.window_left = 40;
  shape.window_right = 10;
  CHECK(has(shape, {40, 41, 288, 289, 339, 340}));
}

TEST_CASE("sample: a sampled row's truth has the bits that it has among all rows") {
  for (const AttentionShape& shape : small_shapes()) {
    const AttentionProblem problem(shape);
    const Instance in = problem.make(problem.shape(), Inputs::tripled, 5);
    const RowSample all = RowSample::all(shape);
    const RowSample some = RowSample::drawn(shape, 9, work_of_rows(shape) / 16);
    REQUIRE(some.size() < all.size() / 8);
    const AttentionTruth whole = attention_oracle(shape, in, all);
    const AttentionTruth part = attention_oracle(shape, in, some);
    const auto D = static_cast<std::size_t>(shape.D);
    for (std::size_t head = 0; head < some.heads(); ++head)
      for (std::size_t i = some.begin(head); i < some.end(head); ++i) {
        const std::size_t row = all.begin(head) + some.of_head(head)[i - some.begin(head)];
        CHECK(part.lse_exact[i] == whole.lse_exact[row]);
        CHECK(part.lse_trusted[i] == whole.lse_trusted[row]);
        CHECK(part.p_variation[i] == whole.p_variation[row]);
        CHECK(part.score_size[i] == whole.score_size[row]);
        bool same = true;
        for (std::size_t d = 0; d < D; ++d)
          same = same && part.exact[i * D + d] == whole.exact[row * D + d] &&
                 part.trusted[i * D + d] == whole.trusted[row * D + d] &&
                 part.spread[i * D + d] == whole.spread[row * D + d];
        CHECK(same);
      }
  }
}

TEST_CASE("sample: an expectation names its rows where they lie, with what is right for them") {
  for (const AttentionShape& shape : small_shapes()) {
    const AttentionProblem whole(shape), sampled(shape, work_of_rows(shape) / 16);
    const Instance in = whole.make(whole.shape(), Inputs::normal, 5);
    const auto all = whole.expect(in, Truth::usual), some = sampled.expect(in, Truth::usual);
    REQUIRE(some.size() == all.size());
    for (std::size_t n = 0; n < some.size(); ++n) {
      CHECK_FALSE(all[n].sampled());
      REQUIRE(some[n].sampled());
      const std::size_t length = some[n].limits.row_elements;
      CHECK(some[n].limits.range_of_row.size() * length == all[n].exact.size());
      for (std::size_t i = 0; i < some[n].exact.size(); ++i)
        CHECK(some[n].exact[i] == all[n].exact[some[n].rows[i / length] * length + i % length]);
      CHECK(*some[n].rms_bound > 0.9 * *all[n].rms_bound);
      CHECK(*some[n].rms_bound < 2 * *all[n].rms_bound);
    }
    const auto more = sampled.expect(in, Truth::thorough);
    CHECK(more[0].rows.size() > 2 * some[0].rows.size());
  }
}

TEST_CASE("limits: hold whatever a correct kernel may give, and little more") {
  for (const AttentionShape& shape : small_shapes()) {
    for (const Inputs inputs : kSampledInputs) {
      const AttentionProblem problem(shape);
      const Instance in = problem.make(problem.shape(), inputs, 5);
      const AttentionTruth truth = attention_oracle(shape, in, RowSample::all(shape));
      const double growth = largest_growth(shape, RowSample::all(shape), truth);
      const auto expected = problem.expect(in, Truth::usual);
      std::vector<ValueBounds> limits = {output_limits(shape, in, growth)};
      if (shape.lse) limits.push_back(lse_limits(shape, in));
      INFO(problem.describe(problem.shape()) << " " << to_text(inputs));
      for (std::size_t n = 0; n < limits.size(); ++n) {
        const std::size_t length = limits[n].row_elements;
        std::size_t outside = 0, at_zero = 0;
        for (std::size_t i = 0; i < expected[n].exact.size(); ++i) {
          const std::size_t at = limits[n].range_of_row[i / length] * length + i % length;
          const auto least = static_cast<double>(limits[n].least[at]);
          const auto most = static_cast<double>(limits[n].most[at]);
          const double exact = expected[n].exact[i], bound = expected[n].bound[i];
          if (!(exact - bound >= least && exact + bound <= most)) ++outside;
          if (bound == 0 && least == exact && most == exact) ++at_zero;
        }
        CHECK(outside == 0);
        // Rows that see nothing have no room at all.
        CHECK(at_zero == static_cast<std::size_t>(std::ranges::count(expected[n].bound, 0.0)));
      }
      // Of normal V the largest element is some four times the usual one.
      if (inputs == Inputs::normal)
        CHECK(std::ranges::max(limits[0].most) < (shape.dtype == DType::e4m3 ? 9 : 5));
    }
  }
}

}  // namespace fa_tune::test
