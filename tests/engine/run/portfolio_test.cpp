#include "engine/run/portfolio.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/engine/run/fixture.hpp"

using namespace fa_tune;

namespace {

const Project& l4() {
  static const Project project = test::project("l4.yaml", {});
  return project;
}

std::int64_t add_run(Store& store) {
  RunRow run;
  run.space = "l4";
  run.space_hash = l4().space.hash();
  run.space_text = l4().file.text;
  run.problem = l4().problem->kind();
  run.shape_json = to_json(l4().problem->shape());
  run.device = "cuda:0";
  run.device_name = "NVIDIA L4";
  run.arch = "sm_89";
  run.target = "l4";
  run.time_kind = "measured";
  run.driver = "1";
  run.compiler = "NVRTC 13.0";
  run.strategy = "random";
  run.options_json = "{}";
  return store.begin_run(run);
}

// A right trial of the space's config of that number, whose screen took so long at such a clock.
std::int64_t add_trial(Store& store, std::int64_t run, int number, std::uint64_t config, double us,
                       double mhz) {
  TrialRow row;
  row.run = run;
  row.number = number;
  row.config_json = l4().space.at(config).to_json();
  row.operation = "random";
  row.stage = "screen";
  row.outcome = "right";
  row.finding = "right";
  row.source_hash = std::string(64, 'a');
  row.time_us = us;
  row.time_low_us = 0.99 * us;
  row.time_high_us = 1.02 * us;
  row.detail_json = nlohmann::json({{"kilocycles", us * mhz / 1000}}).dump();
  return store.record_trial(row, {}, {}, "source");
}

}  // namespace

TEST_CASE("portfolio: a published figure never stands beside one that was only screened") {
  const test::ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  const std::int64_t run = add_run(store);
  const double mhz = l4().target.clock_mhz;
  // By their screens equal; the final of the first says a little more than its screen, as finals
  // do.
  const std::int64_t first = add_trial(store, run, 1, 7, 100, mhz);
  add_trial(store, run, 2, 14, 100, mhz);
  store.record_final(first, {104, 103, 105}, {104});
  const PortfolioField field(store, {.filter = {}, .candidates = 5, .shapes = {}}, test::root());
  REQUIRE(field.kernels().size() == 2);
  REQUIRE(field.shapes().size() == 1);
  CHECK(field.missing() == 0);
  for (const std::size_t kernel : {0U, 1U}) {
    CHECK(field.time(kernel, 0).from == PortfolioTime::From::recorded);
    CHECK(field.time(kernel, 0).us() == doctest::Approx(100));
    CHECK(field.time(kernel, 0).time->low_us == doctest::Approx(99));
    CHECK(field.time(kernel, 0).time->high_us == doctest::Approx(102));
  }
  const Costs costs = field.costs(0.02);
  CHECK(costs[0][0] == doctest::Approx(0));
  CHECK(costs[1][0] == doctest::Approx(0));
}

TEST_CASE("portfolio: screens are compared at one clock, and of several the middle one counts") {
  const test::ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  const double mhz = l4().target.clock_mhz;
  const std::int64_t run = add_run(store), later = add_run(store), last = add_run(store);
  // The second takes 1% fewer cycles, at a clock that was 5% lower.
  add_trial(store, run, 1, 7, 100, mhz);
  add_trial(store, run, 2, 14, 99 / 0.95, 0.95 * mhz);
  // A lucky screen of the first, and another one as usual.
  add_trial(store, later, 1, 7, 90, mhz);
  add_trial(store, last, 1, 7, 101, mhz);
  const PortfolioField field(store, {.filter = {}, .candidates = 5, .shapes = {}}, test::root());
  REQUIRE(field.kernels().size() == 2);
  const std::size_t of_first = field.kernels()[0].config == l4().space.at(7) ? 0 : 1;
  CHECK(field.time(of_first, 0).us() == doctest::Approx(100));
  CHECK(field.time(of_first, 0).time->low_us == doctest::Approx(0.99 * 90));
  CHECK(field.time(1 - of_first, 0).us() == doctest::Approx(99));
  CHECK(*field.best_us(0) == doctest::Approx(99));
}
