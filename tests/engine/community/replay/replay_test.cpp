#include "engine/community/replay/replay.hpp"

#include <cmath>
#include <set>

#include <doctest/doctest.h>

#include "engine/community/replay/summary.hpp"
#include "engine/search/catalog/make_strategy.hpp"
#include "engine/search/strategy.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::test {

using namespace fa_tune::community;
using namespace fa_tune::search;
using namespace fa_tune::space;

namespace {

// 24 x 24 configs around a valley, every seventh one fails.
RecordedTable valley() {
  RecordedTable table;
  table.name = "valley";
  for (const char* name : {"x", "y"}) {
    Parameter parameter;
    parameter.name = name;
    for (std::int64_t i = 0; i < 24; ++i) parameter.values.emplace_back(i);
    table.parameters.push_back(parameter);
  }
  for (Gene x = 0; x < 24; ++x)
    for (Gene y = 0; y < 24; ++y) {
      TableEntry entry{
          {x, y}, "", 1 + 0.1 * (std::abs(x - 17.0) + std::abs(y - 5.0)), 10.0 + x, Failure::none};
      if ((x * 24 + y) % 7 == 3) {
        entry.time_ms.reset();
        entry.failure = Failure::compile;
      }
      table.entries.push_back(entry);
    }
  return table;
}

bool same(const std::vector<Trace>& a, const std::vector<Trace>& b) {
  return std::ranges::equal(a, b, [](const Trace& one, const Trace& other) {
    return std::ranges::equal(one, other, [](const Step& s, const Step& t) {
      return s.evaluation == t.evaluation && s.elapsed_ms == t.elapsed_ms && s.time_ms == t.time_ms;
    });
  });
}

}  // namespace

TEST_CASE("replay: seeds differ, threads do not matter, all is paid for") {
  const RecordedTable table = valley();
  const Space space = table.space();
  ReplayOptions options{.strategy = "random", .seeds = 6, .budget = {0, 60}};
  const auto traces = replay(table, space, options);
  REQUIRE(traces.size() == 6);
  options.jobs = 4;
  CHECK(same(traces, replay(table, space, options)));
  CHECK_FALSE(same({traces[0]}, {traces[1]}));
  for (const Trace& trace : traces) {
    REQUIRE(trace.size() == 60);
    double paid = 0;
    for (std::size_t i = 0; i < trace.size(); ++i) {
      CHECK(trace[i].evaluation == i + 1);
      const double cost = trace[i].elapsed_ms - paid;
      CHECK(cost >= 10);
      CHECK(cost <= 33);
      paid = trace[i].elapsed_ms;
    }
  }
}

TEST_CASE("replay: a budget of time and one of evaluations both bind, and a table ends") {
  const RecordedTable table = valley();
  const Space space = table.space();
  const auto run = [&](ReplayBudget budget, int batch) {
    return replay(table, space,
                  {.strategy = "random", .seeds = 1, .batch = batch, .budget = budget})
        .at(0);
  };
  CHECK(run({500, 0}, 1).back().elapsed_ms >= 500);
  CHECK(run({500, 0}, 1).back().elapsed_ms < 533);
  CHECK(run({0, 33}, 1).size() == 33);
  CHECK(run({0, 33}, 16).size() == 48);
  const Trace all = run({0, 100'000}, 16);
  CHECK(all.size() == table.entries.size());
}

TEST_CASE("replay: a run that ends at the optimum scores as one that goes on") {
  const RecordedTable table = valley();
  const Space space = table.space();
  const Scorer scorer(table);
  ReplayOptions options{
      .strategy = "random", .seeds = 8, .budget = {scorer.budget_ms(), table.entries.size()}};
  const auto whole = replay(table, space, options);
  options.enough_ms = scorer.optimum_ms();
  const auto ended = replay(table, space, options);
  for (std::size_t i = 0; i < ended.size(); ++i) {
    CHECK(whole[i].size() == table.entries.size());
    CHECK(ended[i].size() < whole[i].size());
    CHECK(ended[i].back().time_ms == scorer.optimum_ms());
    CHECK(scorer.score(ended[i], scorer.budget_ms()) ==
          doctest::Approx(scorer.score(whole[i], scorer.budget_ms())).epsilon(1e-12));
  }
  const auto found = summarize(scorer, ended, std::nullopt);
  CHECK(found.evaluations_to == summarize(scorer, whole, std::nullopt).evaluations_to);
}

TEST_CASE("replay: a strategy hears that a config has the samples of an earlier one") {
  RecordedTable table = valley();
  const Space space = table.space();
  const auto run = [&] {
    return replay(table, space, {.strategy = "evolve", .seeds = 1, .budget = {0, 120}});
  };
  const auto before = run();
  // The valley's times do not depend on them, but y does nothing for half of it.
  for (std::size_t i = 0; i < table.entries.size(); ++i)
    table.entries[i].samples = table.entries[i].genome[0] < 12 ? 1 + i / 24 : 1000 + i;
  CHECK_FALSE(same(before, run()));
  for (std::size_t i = 0; i < table.entries.size(); ++i) table.entries[i].samples = 1000 + i;
  CHECK(same(before, run()));
}

TEST_CASE("replay: every strategy runs, and the default one is better than random") {
  const RecordedTable table = valley();
  const Space space = table.space();
  const Scorer scorer(table);
  const auto score = [&](const std::string& strategy) {
    const auto runs = replay(
        table, space, {.strategy = strategy, .seeds = 12, .budget = {scorer.budget_ms(), 0}});
    return summarize(scorer, runs, std::nullopt).score;
  };
  for (const std::string& name : strategy_names()) {
    CAPTURE(name);
    const auto runs =
        replay(table, space, {.strategy = name, .seeds = 1, .batch = 16, .budget = {0, 64}});
    CHECK(runs.at(0).size() == 64);
  }
  CHECK(score("evolve").low > score("random").high);
  CHECK_THROWS_AS(score("no_such_strategy"), UserError);
}

}  // namespace fa_tune::test
