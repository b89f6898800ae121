#include "engine/tuner/portfolio/portfolio.hpp"

#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "engine/device/local/open.hpp"
#include "engine/kernel/compile/compiler.hpp"
#include "engine/measure/process_series.hpp"
#include "engine/tuner/portfolio/dispatch.hpp"
#include "tests/engine/tuner/fixture.hpp"
#include "tests/engine/tuner/measuring_emulator.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;
using namespace fa_tune::device;
using namespace fa_tune::kernel;
using namespace fa_tune::measure;
using namespace fa_tune::space;
using namespace fa_tune::tuner;

namespace {

Config preset(const TuningTask& task, const std::string& name) {
  return std::ranges::find(task.space.presets(), name, &Preset::name)->config;
}

std::int64_t add_measured_run(Store& store, const TuningTask& task = l4()) {
  RunRow run;
  run.space = "l4";
  run.space_hash = task.space.hash();
  run.space_text = task.file.text;
  run.problem = task.problem->kind();
  run.shape_json = to_json(task.problem->shape());
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

// A trial that passed, whose screen took so long at such a clock.
std::int64_t add_trial(Store& store, std::int64_t run, int number, const Config& config, double us,
                       double mhz) {
  TrialRow row;
  row.run = run;
  row.number = number;
  row.config_json = config.to_json();
  row.operation = "random";
  row.stage = "screen";
  row.outcome = Outcome::passed;
  row.finding = "passed";
  row.source_hash = std::string(64, 'a');
  row.screen_time = ScreenTime{{us, 0.99 * us, 1.02 * us}};
  row.detail_json = nlohmann::json({{"kilocycles", us * mhz / 1000}}).dump();
  return store.record_trial(row, {}, {}, "source");
}

class LostDevice : public ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  bool lost() const override { return true; }
};

}  // namespace

TEST_CASE("portfolio: a published figure never stands beside one that was only screened") {
  const test::ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  const std::int64_t run = add_measured_run(store);
  const double mhz = l4().target.clock_mhz;
  // By their screens equal; the final of the first says a little more than its screen, as finals
  // do.
  const std::int64_t first = add_trial(store, run, 1, l4().space.at(7), 100, mhz);
  add_trial(store, run, 2, l4().space.at(14), 100, mhz);
  store.record_final(first, {104, 103, 105}, {104});
  const PortfolioField field(store, {}, test::root());
  REQUIRE(field.kernels().size() == 2);
  REQUIRE(field.shapes().size() == 1);
  CHECK(field.missing() == 0);
  for (const std::size_t kernel : {0U, 1U}) {
    CHECK(field.time(kernel, 0).from == PortfolioTime::From::recorded);
    CHECK(field.time(kernel, 0).us() == doctest::Approx(100));
    CHECK(field.time(kernel, 0).time->us.low == doctest::Approx(99));
    CHECK(field.time(kernel, 0).time->us.high == doctest::Approx(102));
  }
  const Costs costs = field.costs(0.02);
  CHECK(costs[0][0] == doctest::Approx(0));
  CHECK(costs[1][0] == doctest::Approx(0));
}

TEST_CASE(
    "portfolio: candidates divide the work in different ways, as long as they are not far behind") {
  const TuningTask& task = l4();
  const auto changed = [&](const char* gene, int value) {
    auto json = nlohmann::json::parse(preset(task, "fa2").to_json());
    json[gene] = value;
    const Config config = Config::from_json(json.dump());
    REQUIRE_FALSE(task.space.why_invalid(config));
    return config;
  };
  const Config best = preset(task, "fa2");
  const Config alike = changed("STAGES", 2), narrow = changed("BLOCK_N", 32),
               wide = changed("BLOCK_N", 64), of_other_blocks = changed("WARPS_M", 8),
               far = preset(task, "plain");
  const test::ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  const double mhz = task.target.clock_mhz;
  const std::int64_t run = add_measured_run(store);
  add_trial(store, run, 1, far, 200, mhz);
  add_trial(store, run, 2, of_other_blocks, 125, mhz);
  add_trial(store, run, 3, narrow, 120, mhz);
  add_trial(store, run, 4, wide, 110, mhz);
  add_trial(store, run, 5, alike, 101, mhz);
  add_trial(store, run, 6, best, 100, mhz);
  const auto candidates = [&](std::size_t count) {
    const PortfolioField field(store, {.candidates = count}, test::root());
    std::vector<Config> configs;
    for (const PortfolioKernel& kernel : field.kernels()) configs.push_back(kernel.config);
    return configs;
  };
  CHECK(candidates(1) == std::vector{best});
  // Blocks of each number of threads have their turns.
  CHECK(candidates(2) == std::vector{best, of_other_blocks});
  CHECK(candidates(3) == std::vector{best, of_other_blocks, wide});
  CHECK(candidates(4) == std::vector{best, of_other_blocks, wide, narrow});
  CHECK(candidates(5) == std::vector{best, of_other_blocks, wide, narrow, alike});
  CHECK(candidates(9) == std::vector{best, of_other_blocks, wide, narrow, alike, far});
}

TEST_CASE("portfolio: several devices share the shapes, and one that fails ends all") {
  const TuningTask small = test::task("l4.yaml", {{"{B: 1, H: 8, Lq: 512, Lk: 512, D: 64}",
                                                   "{B: 1, H: 1, Lq: 64, Lk: 64, D: 64}"}});
  const test::ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  const std::int64_t run = add_measured_run(store, small);
  add_trial(store, run, 1, preset(small, "plain"), 100, small.target.clock_mhz);
  const std::vector<std::string> shapes = {"shape.L=32", "shape.L=48", "shape.L=80"};
  CompilePool pool(test::cached_nvrtc(), 2);
  const auto emulator = [&](double us) {
    return test::MeasuringEmulator(open_device("emulator:l4", small.target, test::root()),
                                   [us](const KernelImage&) { return us; });
  };
  test::MeasuringEmulator one = emulator(7), two = emulator(7);
  PortfolioField field(store, {.shapes = shapes}, test::root());
  REQUIRE(field.missing() == 3);
  std::vector<std::size_t> over;
  CHECK(field.measure({&one, &two}, pool, 1, [&](std::size_t done) { over.push_back(done); }) == 3);
  CHECK(over == std::vector<std::size_t>{1, 2, 3, 4});
  CHECK(field.missing() == 0);
  CHECK(field.measure({&one, &two}, pool, 1) == 0);

  PortfolioField other(store, {.shapes = shapes}, test::root());
  LostDevice lost(open_device("emulator:l4", small.target, test::root()));
  CHECK_THROWS_AS(other.measure({&one, &lost}, pool, 1), MachineError);
}

TEST_CASE("portfolio: a kernel that passes at no tuned shape of a category does not serve it") {
  const TuningTask full = test::task("l4.yaml", {}),
                   causal = test::task("l4.yaml", {{"causal: false", "causal: true"},
                                                   {"{B: 1, H: 8, Lq: 512, Lk: 512, D: 64}",
                                                    "{B: 2, H: 16, Lq: 1024, Lk: 1024, D: 64}"}});
  const test::ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  const double mhz = full.target.clock_mhz;
  const Config wrong = preset(full, "fa2"), right = preset(full, "plain");
  for (const TuningTask* task : {&full, &causal})
    add_trial(store, add_measured_run(store, *task), 1, right, 100, mhz);
  const db::RunRow first = *store.run(1);
  add_trial(store, first.id, 2, wrong, 50, mhz);
  PortfolioField field(store, {.drawn = 20}, test::root());
  // At causal shapes that are drawn it is timed too, and faster; at the tuned one it failed the gate.
  std::vector<Constants> drawn;
  for (const PortfolioShape& shape : field.shapes()) {
    const bool masked =
        std::get<bool>(shape.task.problem->complete(shape.task.problem->shape()).at("causal"));
    const bool fails = masked && !shape.drawn;
    field.take_known(wrong, shape.task.problem->shape(),
                     fails ? std::nullopt : std::optional(50.0));
    field.take_known(right, shape.task.problem->shape(), 100);
    if (masked && shape.drawn) drawn.push_back(shape.task.problem->shape());
  }
  REQUIRE(field.missing() == 0);
  REQUIRE(!drawn.empty());
  DispatchLearner dispatch(field, 1);
  dispatch.learn();
  const LearnedDispatch& learned = dispatch.learned();
  REQUIRE(learned.kernels.size() == 2);
  for (const exports::KernelCost& cost : learned.dispatch.costs) {
    const bool is_wrong = field.kernels()[learned.kernels[cost.choice]].config == wrong;
    CHECK_FALSE((is_wrong && cost.category.at("causal") == Value(true)));
  }
  for (const double regret : learned.regrets) CHECK(regret == 0);
}

TEST_CASE("portfolio: screens are compared at one clock, and of several the middle one counts") {
  const test::ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  const double mhz = l4().target.clock_mhz;
  const std::int64_t run = add_measured_run(store), later = add_measured_run(store),
                     last = add_measured_run(store);
  // The second takes 1% fewer cycles, at a clock that was 5% lower.
  add_trial(store, run, 1, l4().space.at(7), 100, mhz);
  add_trial(store, run, 2, l4().space.at(14), 99 / 0.95, 0.95 * mhz);
  // A lucky screen of the first, and another one as usual.
  add_trial(store, later, 1, l4().space.at(7), 90, mhz);
  add_trial(store, last, 1, l4().space.at(7), 101, mhz);
  const PortfolioField field(store, {}, test::root());
  REQUIRE(field.kernels().size() == 2);
  const std::size_t of_first = field.kernels()[0].config == l4().space.at(7) ? 0 : 1;
  CHECK(field.time(of_first, 0).us() == doctest::Approx(100));
  CHECK(field.time(of_first, 0).time->us.low == doctest::Approx(0.99 * 90));
  CHECK(field.time(1 - of_first, 0).us() == doctest::Approx(99));
  CHECK(*field.best_us(0) == doctest::Approx(99));
}

TEST_CASE("portfolio: where screens say one thing and a race another, the race is believed") {
  const TuningTask small = test::task("l4.yaml", {{"{B: 1, H: 8, Lq: 512, Lk: 512, D: 64}",
                                                   "{B: 1, H: 1, Lq: 64, Lk: 64, D: 64}"}});
  const test::ScratchFolder folder;
  Store store(folder / "a.db", Store::Mode::write);
  const double mhz = small.target.clock_mhz;
  const std::int64_t run = add_measured_run(store, small);
  const Config lucky = preset(small, "plain"), steady = preset(small, "fa2"),
               far = small.space.at(7);
  add_trial(store, run, 1, lucky, 99, mhz);
  add_trial(store, run, 2, steady, 100, mhz);
  add_trial(store, run, 3, far, 140, mhz);
  PortfolioField field(store, {}, test::root());
  const auto kernel_of = [&](const Config& config) {
    const auto found = std::ranges::find(field.kernels(), config, &PortfolioKernel::config);
    REQUIRE(found != field.kernels().end());
    return static_cast<std::size_t>(found - field.kernels().begin());
  };
  CHECK(field.costs(0.02)[kernel_of(lucky)][0] == doctest::Approx(0));
  CHECK(field.costs(0.02)[kernel_of(steady)][0] > 0.01);

  CompilePool pool(test::cached_nvrtc(), 2);
  test::MeasuringEmulator device(
      open_device("emulator:l4", small.target, test::root()), [](const KernelImage& image) {
        const std::string text(reinterpret_cast<const char*>(image.bytes.data()),
                               image.bytes.size());
        return text.contains("mma.sync") ? 96 : 100;
      });
  std::size_t over = 0;
  field.race(device, pool, 0.02, 1, [&](std::size_t done) { over = done; });
  CHECK(over == 1);
  CHECK(device.renewals == ProcessSeries::kProcesses);
  REQUIRE(field.raced(0));
  REQUIRE(field.time(kernel_of(lucky), 0).ratio);
  CHECK(field.time(kernel_of(lucky), 0).ratio->value == doctest::Approx(100.0 / 96).epsilon(0.003));
  CHECK(field.time(kernel_of(lucky), 0).ratio->low > 1);
  // Who was not raced has no place beside those who were.
  CHECK_FALSE(field.over_best(kernel_of(far), 0));
  const Costs costs = field.costs(0.02);
  CHECK(costs[kernel_of(steady)][0] == doctest::Approx(0));
  CHECK_FALSE(costs[kernel_of(lucky)][0]);
  CHECK_FALSE(costs[kernel_of(far)][0]);

  // Without the winner the next is the best.
  field.exclude(kernel_of(steady), 0);
  CHECK_FALSE(field.time(kernel_of(steady), 0).us());
  CHECK(field.costs(0.02)[kernel_of(lucky)][0] == doctest::Approx(0));
  field.exclude(kernel_of(lucky), 0);
  CHECK_FALSE(field.raced(0));
  CHECK(*field.over_best(kernel_of(far), 0) == doctest::Approx(1));
}

}  // namespace fa_tune::test
