// What kernels take at sizes that nobody timed: times made by known costs, and what is learned from them.

#include "engine/tuner/portfolio/kernel_costs.hpp"

#include <cmath>
#include <numeric>

#include <doctest/doctest.h>

#include "engine/tuner/portfolio/kernel_times.hpp"
#include "engine/util/random.hpp"

namespace fa_tune::test {

using namespace fa_tune::exports;
using namespace fa_tune::tuner;
using expression::Residue;

namespace {

constexpr std::int64_t kSms = 20;

// `rows` of H * L a tile, of which each is a step for each 64 of L, or for those up to its own rows.
QueueFormulas queue(int rows, bool causal) {
  const std::string tiles = "ceil_div(L, " + std::to_string(rows) + ")";
  const std::string steps =
      causal ? "ceil_div(min(L, (" + tiles + " - tile) * " + std::to_string(rows) + "), 64)"
             : std::string("ceil_div(L, 64)");
  return {Residue::of_text("H"), Residue::of_text("1"), Residue::of_text(tiles),
          Residue::of_text(steps), Residue::of_text("H * " + tiles)};
}

// One kernel with large tiles, one with small ones, of which an SM holds two that slow each other;
// both for full and causal.
std::vector<KernelCost> true_costs() {
  std::vector<KernelCost> costs;
  for (const bool causal : {false, true}) {
    const Constants category = {{"causal", causal}};
    costs.push_back({0, category, {queue(128, causal)}, kSms, 32, kSms, 3, 0.8, 0});
    costs.push_back({1, category, {queue(32, causal)}, 2 * kSms, 8, kSms, 2, 0.6, 0.15});
  }
  return costs;
}

std::vector<Constants> shapes_of(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<Constants> shapes;
  while (shapes.size() < count)
    shapes.push_back({{"H", static_cast<std::int64_t>(1 + random.below(40))},
                      {"L", std::llround(std::exp2(6 + 5 * random.uniform()))},
                      {"causal", random.below(2) == 0}});
  return shapes;
}

double true_us(std::size_t kernel, const Constants& shape) {
  for (const KernelCost& cost : true_costs())
    if (cost.choice == kernel && cost.is_for(shape)) return *cost.us(shape);
  return NAN;
}

TrainingSet training_of(const std::vector<Constants>& shapes) {
  TrainingSet training{.shapes = shapes,
                       .category = {},
                       .categories = {{{"causal", false}}, {{"causal", true}}},
                       .us = {{}, {}},
                       .untimed = {},
                       .sizes = {"H", "L"},
                       .sms = kSms,
                       .queues = {},
                       .cluster = {{1, 1}, {1, 1}}};
  for (const Constants& shape : shapes) {
    training.category.push_back(std::get<bool>(shape.at("causal")) ? 1 : 0);
    for (std::size_t kernel = 0; kernel < 2; ++kernel)
      training.us[kernel].emplace_back(true_us(kernel, shape));
  }
  for (const int rows : {128, 32})
    training.queues.push_back({{queue(rows, false)}, {queue(rows, true)}});
  return training;
}

double worst_regret(const Dispatch& dispatch, const std::vector<std::size_t>& kernels,
                    const std::vector<Constants>& shapes) {
  double worst = 1;
  for (const Constants& shape : shapes)
    if (dispatch.in_ranges(shape))
      worst = std::max(worst, true_us(kernels[dispatch.choice(shape)], shape) /
                                  std::min(true_us(0, shape), true_us(1, shape)));
  return worst;
}

}  // namespace

TEST_CASE("kernel costs: a fit finds the slots, and the times of shapes that it does not know") {
  for (const std::size_t kernel : {0, 1}) {
    std::vector<std::vector<QueueAtShape>> queues;
    std::vector<double> us;
    const KernelCost truth = true_costs()[2 + kernel];  // causal
    std::vector<Constants> shapes = shapes_of(60, 1);
    for (Constants& shape : shapes) {
      shape["causal"] = true;
      queues.push_back({*queue_at(truth.queues[0], shape)});
      us.push_back(*truth.us(shape));
    }
    const KernelTimes times(queues, us, kSms, 1);
    std::vector<std::size_t> first(12);
    std::iota(first.begin(), first.end(), 0);
    const KernelTimes::Fit fit = times.fit(first);
    KernelCost found{.queues = truth.queues};
    times.write(fit, found);
    CHECK(found.slots == truth.slots);
    CHECK((found.shared_step_us > 0) == (truth.shared_step_us > 0));
    for (std::size_t shape = first.size(); shape < shapes.size(); ++shape) {
      CHECK(std::abs(times.cautious_us(fit, shape) / us[shape] / (1 + fit.doubt) - 1) < 0.05);
      CHECK(times.cautious_us(fit, shape) == doctest::Approx(*found.us(shapes[shape])));
    }
  }
}

TEST_CASE("kernel costs: neither part of a time is below 0") {
  const auto fit_of = [](const std::vector<std::int64_t>& steps, const std::vector<double>& us) {
    std::vector<std::vector<QueueAtShape>> queues;
    for (const std::int64_t each : steps) queues.push_back({{1, 1, 1, {each}}});
    return KernelTimes(queues, us, 1, 1).fit({0, 1});
  };
  CHECK(fit_of({10, 20}, {10, 30}).fixed_us == 0);
  CHECK(fit_of({10, 20}, {30, 10}).step_us == 0);
  CHECK(fit_of({10, 20}, {15, 25}).step_us > 0);
}

TEST_CASE("kernel costs: a dispatch chooses the faster kernel at shapes that it does not know") {
  const std::vector<Constants> others = shapes_of(200, 7);
  const LearnedDispatch learned = learn_dispatch(training_of(shapes_of(24, 3)));
  REQUIRE(learned.kernels.size() == 2);
  CHECK(worst_regret(learned.dispatch, learned.kernels, others) < 1.08);
  CHECK(learned.regrets.size() == 24);
  CHECK(learned.left_out.size() == 24);
  CHECK(std::ranges::max(learned.left_out) < std::log(1.3));
  for (std::size_t kernel = 0; kernel < 2; ++kernel) {  // each alone is far behind somewhere
    TrainingSet one = training_of(shapes_of(24, 3));
    for (auto& us : one.us[1 - kernel]) us.reset();
    const LearnedDispatch alone = learn_dispatch(one);
    CHECK(alone.kernels == std::vector<std::size_t>{kernel});
    CHECK(worst_regret(alone.dispatch, alone.kernels, others) > 1.3);
  }
}

TEST_CASE("kernel costs: a kernel that saves nothing is not chosen, and one shape is enough") {
  TrainingSet training = training_of(shapes_of(10, 3));
  training.us.insert(training.us.begin(), training.us[0]);  // it stands before the better one
  for (auto& us : training.us[0]) *us *= 1.2;
  training.queues.insert(training.queues.begin(), training.queues[0]);
  training.cluster.push_back({1, 1});
  const LearnedDispatch learned = learn_dispatch(training);
  CHECK(std::ranges::find(learned.kernels, 0U) == learned.kernels.end());
  const LearnedDispatch one = learn_dispatch(training_of(shapes_of(1, 3)));
  CHECK(one.kernels.size() == 1);
  CHECK(one.left_out.empty());
  CHECK(one.dispatch.ranges[0].least == one.dispatch.ranges[0].most);
}

TEST_CASE("kernel costs: a shape that is left out is not known") {
  std::vector<Constants> shapes = shapes_of(11, 3);
  for (Constants& shape : shapes) shape["causal"] = false;
  shapes.back()["causal"] = true;
  TrainingSet training = training_of(shapes);
  for (std::size_t shape = 0; shape < shapes.size(); ++shape)
    training.us[1][shape] = *training.us[0][shape] * (shape == 10 ? 0.25 : 2);
  const LearnedDispatch learned = learn_dispatch(training);
  CHECK(learned.kernels == std::vector<std::size_t>{0, 1});
  CHECK(learned.regrets[10] == 0);
  CHECK(learned.left_out[10] == doctest::Approx(std::log(4)));
  CHECK(learned.left_out[3] == 0);
}

TEST_CASE("kernel costs: what does not serve a shape is not chosen there") {
  TrainingSet training = training_of(shapes_of(24, 3));
  training.queues[1][1].clear();  // not for causal
  for (std::size_t shape = 0; shape < training.shapes.size(); ++shape)
    if (training.category[shape] == 1) training.us[1][shape].reset();
  const LearnedDispatch learned = learn_dispatch(training);
  REQUIRE(learned.kernels.size() == 2);
  for (Constants shape : shapes_of(100, 9)) {
    shape["causal"] = true;
    CHECK(learned.kernels[learned.dispatch.choice(shape)] == 0);
  }
  CHECK(learned.kernels[learned.dispatch.robust[0]] == 0);
}

TEST_CASE(
    "kernel costs: of shapes that nobody timed, a kernel is chosen by what it is expected to "
    "take") {
  // At all timed shapes the kernel of large tiles is the faster one; with few heads the other is.
  std::vector<Constants> shapes, few_heads;
  for (Constants shape : shapes_of(200, 5)) {
    shape["causal"] = false;
    (true_us(0, shape) < true_us(1, shape) ? shapes : few_heads).push_back(shape);
  }
  REQUIRE(shapes.size() > 20);
  REQUIRE(few_heads.size() > 20);
  TrainingSet training = training_of(shapes);
  CHECK(learn_dispatch(training).kernels == std::vector<std::size_t>{0});
  for (const Constants& shape : few_heads) training.untimed.push_back({shape, 0});
  const LearnedDispatch learned = learn_dispatch(training);
  CHECK(learned.kernels.size() == 2);
  CHECK(worst_regret(learned.dispatch, learned.kernels, few_heads) < 1.08);
}

TEST_CASE("kernel costs: a kernel whose times are unsteady or few counts as slower") {
  const auto fit_of = [](std::size_t shapes, double unsteady) {
    std::vector<std::vector<QueueAtShape>> queues;
    std::vector<double> us;
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < shapes; ++i) {
      const auto steps = static_cast<std::int64_t>(10 + 7 * i);
      queues.push_back({{1, 1, 1, {steps}}});
      us.push_back(static_cast<double>(3 + steps) * (i % 2 == 0 ? 1 + unsteady : 1 - unsteady));
      all.push_back(i);
    }
    return KernelTimes(queues, us, 1, 1).fit(all);
  };
  CHECK(fit_of(100, 0).doubt < 0.02);
  CHECK(fit_of(100, 0.15).doubt == doctest::Approx(0.15).epsilon(0.1));
  CHECK(fit_of(3, 0).doubt > 0.09);
  for (const double unsteady : {0.0, 0.15}) {
    const KernelTimes::Fit fit = fit_of(100, unsteady);
    CHECK(fit.cautious_us({100, 100}) == doctest::Approx((1 + fit.doubt) * 103).epsilon(0.06));
  }
}

TEST_CASE("kernel costs: the most robust first") {
  const Costs regrets = {{0.3, 0.0}, {0.1, 0.2}, {std::nullopt, 0.0}};
  CHECK(by_robustness(regrets) == std::vector<std::size_t>{1, 0, 2});
}

}  // namespace fa_tune::test
