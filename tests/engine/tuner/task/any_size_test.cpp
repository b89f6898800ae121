// What is exported for any size is what a trial is planned as.

#include "engine/tuner/task/any_size.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "engine/export/dispatch.hpp"
#include "engine/space_file/space_file.hpp"
#include "engine/tuner/task/tuning_task.hpp"
#include "engine/util/error.hpp"
#include "engine/util/random.hpp"
#include "tests/engine/tuner/fixture.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace fa_tune::tuner;
using expression::Expression;
using expression::Residue;

namespace {

std::int64_t value_at(const Residue& residue, const Constants& sizes) {
  return Expression::parse(residue.text(expression::Language::native))
      .evaluate_integer([&](const std::string& name) {
        const auto found = sizes.find(name);
        return found == sizes.end() ? nullptr : &found->second;
      });
}

void check_axes(const std::vector<Residue>& formulas, const Dim3& planned, const Constants& sizes) {
  CHECK(value_at(formulas.at(0), sizes) == planned.x);
  CHECK(value_at(formulas.at(1), sizes) == planned.y);
  CHECK(value_at(formulas.at(2), sizes) == planned.z);
}

void check_at(const TuningTask& task, const Config& config, const exports::AnySize& any,
              const Constants& shape) {
  const auto planned = task.template_of(config).plan(config, task.scope(shape));
  if (!planned) return;
  const std::vector<PlannedKernel> kernels = planned->kernels();
  REQUIRE(kernels.size() == any.kernels.size());
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    check_axes(any.kernels[i].grid, kernels[i].config.grid, shape);
    check_axes(any.kernels[i].block, kernels[i].config.block, shape);
    check_axes(any.kernels[i].cluster, kernels[i].config.cluster, shape);
    CHECK(value_at(any.kernels[i].shared, shape) == kernels[i].config.dynamic_shared_bytes);
  }
  const auto check_dims = [&](const std::string& name, const std::vector<std::int64_t>& dims) {
    const auto& formulas = any.dims.at(name);
    REQUIRE(formulas.size() == dims.size());
    for (std::size_t i = 0; i < dims.size(); ++i) CHECK(value_at(formulas[i], shape) == dims[i]);
  };
  const problem::Instance outline = task.problem->outline(shape);
  for (const problem::Tensor& tensor : outline.tensors) check_dims(tensor.name, tensor.dims);
  for (const PlannedWorkspace& each : planned->workspaces) check_dims(each.name, each.dims);
  const auto check_scalar = [&](const auto& scalar) {
    if (const auto found = any.scalars.find(scalar.name); found != any.scalars.end())
      CHECK(value_at(found->second, shape) ==
            static_cast<std::int64_t>(get_integer(scalar.type, scalar.bytes.data())));
  };
  for (const problem::Scalar& scalar : outline.scalars) check_scalar(scalar);
  for (const PlannedScalar& scalar : planned->scalars) check_scalar(scalar);
}

}  // namespace

TEST_CASE("any size: formulas give what is planned, for configs and sizes drawn at random") {
  for (const char* name : {"reduction", "histogram", "scan", "nbody", "gemm", "gemm_split_k",
                           "convolution", "h100", "h100_gqa", "h100_fp8"}) {
    CAPTURE(name);
    const TuningTask task = test::opened(space::load_space_file(name, test::root()));
    Random random(11);
    int made = 0;
    for (int i = 0; i < 40; ++i) {
      const Config config = task.space.sample(random);
      exports::AnySize any;
      try {
        any = any_size(task.template_of(config), *task.problem, task.target, task.file, config);
      } catch (const UserError& error) {
        CHECK_MESSAGE(test::has(error.what(), "one size"), error.what());
        continue;
      }
      ++made;
      for (int place = 0; place < 5; ++place) {
        Constants sizes;
        for (const std::string& size : any.sizes)
          sizes[size] = static_cast<std::int64_t>(
              1 + random.below(task.problem->kind() == "attention" ? 20 : 5000));
        check_at(task, config, any, exports::with_sizes(any, task.problem->shape(), sizes));
      }
    }
    CHECK(made > 0);
  }
}

TEST_CASE("any size: a tile of attention has the keys that its rows see, and rows that there are") {
  for (const char* mask : {"causal: false", "causal: true\n  causal_alignment: bottom_right"}) {
    const TuningTask task = test::task("h100.yaml", {{"causal: false", mask}});
    const bool causal = std::string(mask) != "causal: false";
    Random random(5);
    int single = 0, rounds = 0;
    for (int i = 0; i < 40; ++i) {
      const Config config = task.space.sample(random);
      const exports::AnySize any =
          any_size(task.template_of(config), *task.problem, task.target, task.file, config);
      const std::int64_t Lq = 200, Lk = 333, heads = 6;
      const Constants shape = exports::with_sizes(
          any, task.problem->complete(task.problem->shape()),
          {{"B", std::int64_t{2}}, {"H", std::int64_t{3}}, {"Lq", Lq}, {"Lk", Lk}});
      const auto queue = exports::queue_at(exports::queue_of(any.kernels[0], any.sizes), shape);
      REQUIRE(queue);
      const bool wgmma = task.template_of(config).name() == "wgmma";
      const auto gene = [&](const char* name) {
        return std::get<std::int64_t>(*config.find(name));
      };
      const std::int64_t key_groups = wgmma ? gene("KEY_GROUPS") : 1;
      const std::int64_t rows =
          wgmma ? 64 * gene("CONSUMERS") / key_groups * gene("CLUSTER") : gene("BLOCK_M");
      std::vector<std::int64_t> expected;
      // Causal tiles of wgmma lie against the last 64 rows: what they lack is before row 0.
      const std::int64_t lack = wgmma && causal ? (rows - (Lq + 63) / 64 * 64 % rows) % rows : 0;
      for (std::int64_t first = -lack; first < Lq; first += rows) {
        const std::int64_t keys = causal ? std::min(first + rows, Lq) + Lk - Lq : Lk;
        const std::int64_t step = gene("BLOCK_N") * key_groups;
        expected.push_back((keys + step - 1) / step);
        // A warpgroup of 64 rows that has none waits, and a tile takes half of its time for each.
        const std::int64_t there = std::min(first + rows, Lq) - std::max<std::int64_t>(first, 0);
        if (wgmma) expected.back() *= rows / 64 + (there + 63) / 64;
      }
      std::ranges::sort(expected);
      std::vector<std::int64_t> steps = queue->steps;
      std::ranges::sort(steps);
      CHECK(steps == expected);
      CHECK(queue->sets == heads);
      const std::int64_t tiles = heads * std::ssize(steps);
      // Where a block takes one tile, those of heads that fill up a group have none.
      const bool one_each = !wgmma || !std::get<bool>(*config.find("PERSISTENT"));
      CHECK((queue->blocks >= tiles) == one_each);
      ++(one_each ? single : rounds);
    }
    CHECK(single > 0);
    CHECK(rounds > 0);
  }
}

TEST_CASE("any size: constraints of a space and of a template stay as conditions") {
  const TuningTask task = test::opened(space::load_space_file("gemm", test::root()));
  Random random(3);
  bool some = false;
  for (int i = 0; i < 40 && !some; ++i) {
    const Config config = task.space.sample(random);
    if (task.template_of(config).name() != "mma") continue;
    some = true;
    const exports::AnySize any =
        any_size(task.template_of(config), *task.problem, task.target, task.file, config);
    CHECK_FALSE(any.required.empty());
    Constants shape = task.problem->shape();
    CHECK(exports::refusal_at(any, shape).empty());
    for (auto& [size, value] : shape) value = std::int64_t{7};
    CHECK_FALSE(exports::refusal_at(any, shape).empty());
  }
  CHECK(some);
}

TEST_CASE("any size: what is of one size says so") {
  const TuningTask task = test::opened(space::load_space_file("softmax", test::root()));
  const std::string message = message_of<UserError>([&] {
    any_size(task.templates[0], *task.problem, task.target, task.file, task.space.at(0));
  });
  CHECK_MESSAGE(test::has(message, "made for one s"), message);
}

TEST_CASE("any size: in attention the heads that share keys follow from those of K and V") {
  const TuningTask task = test::task("h100_gqa.yaml");
  const auto group = task.scope(task.problem->complete(task.problem->shape())).at("problem.group");
  REQUIRE(std::get<std::int64_t>(group) > 1);
  const Config& config = task.space.presets().front().config;
  const exports::AnySize any =
      any_size(task.template_of(config), *task.problem, task.target, task.file, config);
  const Constants shape =
      exports::with_sizes(any, task.problem->shape(), {{"Hkv", std::int64_t{3}}});
  CHECK(integer(shape, "H") == 3 * std::get<std::int64_t>(group));
}

}  // namespace fa_tune::test
