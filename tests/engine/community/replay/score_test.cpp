#include "engine/community/replay/score.hpp"

#include <cmath>

#include <doctest/doctest.h>

#include "engine/community/replay/summary.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::test {

using namespace fa_tune::community;
using namespace fa_tune::space;

namespace {

// `times` in any order, each config costs `cost`.
RecordedTable table_of(const std::vector<double>& times, double cost = 10) {
  RecordedTable table;
  for (std::size_t i = 0; i < times.size(); ++i)
    table.entries.push_back(
        {{static_cast<Gene>(i)}, std::to_string(i), times[i], cost, Failure::none});
  return table;
}

std::vector<double> ramp(int n) {
  std::vector<double> times;
  for (int i = 1; i <= n; ++i) times.push_back(i);
  return times;
}

}  // namespace

TEST_CASE("score: the budget is that of the definition") {
  // Times 1..100: optimum 1, median 50.5, target 1 + 49.5 * 0.05 = 3.475. Sorted from the worst,
  // 3 stands at 97: ceil(97 / (101 - 97)) = 25.
  const Scorer scorer(table_of(ramp(100)));
  CHECK(scorer.optimum_ms() == 1);
  CHECK(scorer.median_ms() == 50.5);
  CHECK(scorer.budget_evaluations() == 25);
  CHECK(scorer.budget_ms() == 250);
}

TEST_CASE("score: the baseline is that of the definition") {
  const Scorer scorer(table_of(ramp(100)));
  // After 1 draw: position round(101 / 2) = 50 (to even): 50. After 9: round(90.9) = 91: 9.
  CHECK(scorer.baseline_ms(10) == 50);
  CHECK(scorer.baseline_ms(94) == 9);
  CHECK(scorer.baseline_ms(0) == 50);
  CHECK(scorer.baseline_ms(1e9) == 1);
}

TEST_CASE("score: 1 at the optimum from the start, 0 with the baseline, by steps in between") {
  const Scorer scorer(table_of(ramp(100)));
  CHECK(scorer.score({{1, 0, 1.0}}, 330) == doctest::Approx(1));
  CHECK(scorer.score({}, 330) == 0);
  CHECK(scorer.score({{1, 10, std::nullopt}, {2, 20, std::nullopt}}, 330) == 0);
  // The optimum after a third of the budget: nothing before.
  CHECK(scorer.score({{1, 110, 1.0}}, 330) == doctest::Approx(2.0 / 3));
  // Paid for past the budget: not seen.
  CHECK(scorer.score({{1, 331, 1.0}}, 330) == 0);

  // The sum over a fine grid agrees with the exact integral.
  const Trace trace = {{1, 7, 60.0}, {2, 40, 20.0}, {3, 41, 90.0}, {4, 222, 2.0}};
  double sum = 0;
  constexpr int kSteps = 1'000'000;
  for (int i = 0; i < kSteps; ++i) {
    const double t = 330 * (i + 0.5) / kSteps;
    const double best = t < 7 ? 0 : t < 40 ? 60 : t < 222 ? 20 : 2;
    const double base = scorer.baseline_ms(t);
    if (best > 0) sum += (base - best) / (base - 1) / kSteps;
  }
  CHECK(scorer.score(trace, 330) == doctest::Approx(sum).epsilon(1e-4));
}

TEST_CASE("score: following the baseline is worth nothing") {
  const Scorer scorer(table_of(ramp(1000)));
  Trace trace;
  for (std::size_t i = 1; i <= 4000; ++i) {
    const double at = scorer.budget_ms() * static_cast<double>(i) / 4000;
    trace.push_back({i, at, scorer.baseline_ms(at)});
  }
  CHECK(std::abs(scorer.score(trace, scorer.budget_ms())) < 0.01);
}

TEST_CASE("score: failures cost, and tables of one time or none") {
  RecordedTable table = table_of({5});
  CHECK(Scorer(table).budget_evaluations() == 1);
  CHECK(Scorer(table).score({{1, 0, 5.0}}, 10) == 1);
  table.entries.push_back({{1}, "1", std::nullopt, 30, Failure::runtime});
  CHECK(Scorer(table).budget_ms() == 20);
  table.entries.erase(table.entries.begin());
  CHECK_THROWS_AS(Scorer{table}, UserError);
}

TEST_CASE("summary: evaluations to nearness, with runs that never come there") {
  const Scorer scorer(table_of(ramp(100)));
  const std::vector<Trace> runs = {{{1, 10, 50.0}, {2, 20, 1.05}},
                                   {{1, 10, 1.08}, {5, 50, 1.0}},
                                   {{1, 10, 50.0}, {7, 70, std::nullopt}}};
  const ReplaySummary summary = summarize(scorer, runs, std::nullopt);
  CHECK(summary.evaluations_to[0] == std::vector<double>{2, 1, INFINITY});
  CHECK(summary.evaluations_to[1] == std::vector<double>{2, 5, INFINITY});
  CHECK(summary.evaluations_to[3] == std::vector<double>{INFINITY, 5, INFINITY});
  const EvaluationsTo ten = median_evaluations(summary.evaluations_to[0]);
  CHECK(ten.median == 2);
  CHECK(ten.reached == 2);
  CHECK_FALSE(ten.high);
  CHECK_FALSE(median_evaluations(summary.evaluations_to[3]).median);
  CHECK(summary.within[0] == std::array{2 / 3.0, 2 / 3.0, 2 / 3.0, 2 / 3.0});
  CHECK(summary.within[3] == std::array{1 / 3.0, 1 / 3.0, 1 / 3.0, 1 / 3.0});
  // After 25 evaluations: 1/1.05, 1/1 and 1/50.
  CHECK(summary.after[0].value == doctest::Approx((1 / 1.05 + 1 + 0.02) / 3));
}

TEST_CASE("summary: a run counts as near from the evaluation on that brought it there") {
  const Scorer scorer(table_of(ramp(100)));
  const std::vector<Trace> runs = {
      {{25, 10, 1.0}}, {{26, 10, 1.0}}, {{200, 9, 1.0}}, {{201, 9, 1.0}}};
  CHECK(summarize(scorer, runs, 1000).within[1] == std::array{0.25, 0.5, 0.5, 0.75});
}

TEST_CASE("summary: the mean over tables has the tables' intervals") {
  ReplaySummary one;
  one.score = {0.5, 0.4, 0.6};
  ReplaySummary other;
  other.score = {0.7, 0.7, 0.7};
  const Interval mean = mean_score(std::vector{one, other});
  CHECK(mean.value == doctest::Approx(0.6));
  CHECK(mean.low == doctest::Approx(0.55));
  CHECK(mean.high == doctest::Approx(0.65));
}

}  // namespace fa_tune::test
