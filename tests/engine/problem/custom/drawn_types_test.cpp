// What is drawn of the types that CUDA kernels have.

#include <algorithm>
#include <cstring>
#include <set>

#include <doctest/doctest.h>

#include "tests/engine/problem/custom/typed_kernel.hpp"

namespace fa_tune::test {

using namespace fa_tune::problem;
using namespace fa_tune::tuner;

TEST_CASE("types: integers are drawn over all of their range, in each kind of inputs its own way") {
  const ScratchFolder folder;
  const TuningTask task = kHashes.task(folder, kHashes.plain);
  const auto drawn = [&](Inputs inputs) {
    const Instance instance = task.problem->make({{"n", std::int64_t{2000}}}, inputs, 3);
    std::vector<std::uint64_t> numbers(2000);
    std::memcpy(numbers.data(), instance.tensors[0].bytes.data(), 8 * numbers.size());
    return numbers;
  };
  const auto normal = drawn(Inputs::normal);
  std::uint64_t ones = 0, zeros = 0;
  for (const std::uint64_t each : normal) ones |= each, zeros |= ~each;
  CHECK(ones == ~std::uint64_t{0});
  CHECK(zeros == ~std::uint64_t{0});
  CHECK(std::set(normal.begin(), normal.end()).size() == normal.size());
  const auto rare = drawn(Inputs::rare);
  CHECK(std::ranges::count(rare, std::uint64_t{0}) > 50);
  CHECK(std::ranges::count(rare, ~std::uint64_t{0}) > 50);
  const auto extreme = drawn(Inputs::extreme);
  CHECK(std::set(extreme.begin(), extreme.end()) == std::set<std::uint64_t>{0, ~std::uint64_t{0}});
  const auto rows = drawn(Inputs::distinct_rows);
  CHECK(std::set(rows.begin(), rows.end()).size() == 1);
}

TEST_CASE("types: rows in order, permutations and offsets") {
  const auto rows_of = [](const std::string& fill, Inputs inputs) {
    TypedKernel kernel = kGather;
    kernel.arguments =
        replace(kernel.arguments,
                {{"shape: [n], fill: {integers: [0, n - 1]}", "shape: [3, n], fill: " + fill}});
    const ScratchFolder folder;
    const Instance instance =
        kernel.task(folder, kernel.plain).problem->make({{"n", std::int64_t{100}}}, inputs, 5);
    std::vector<std::vector<std::int64_t>> rows(3, std::vector<std::int64_t>(100));
    for (std::size_t i = 0; i < 3; ++i)
      std::memcpy(rows[i].data(), instance.tensors[1].bytes.data() + i * 800, 800);
    return rows;
  };
  for (const Inputs inputs : {Inputs::normal, Inputs::tripled, Inputs::negated, Inputs::rare,
                              Inputs::extreme, Inputs::distinct_rows, Inputs::large_logits}) {
    for (const auto& row : rows_of("{permutation: n}", inputs))
      CHECK(std::set(row.begin(), row.end()).size() == 100);
    for (const auto& row : rows_of("{integers: [-5, 50], sorted: true}", inputs))
      CHECK(std::ranges::is_sorted(row));
    for (const auto& row : rows_of("{offsets: 7 * n}", inputs)) {
      CHECK(std::ranges::is_sorted(row));
      CHECK(row.front() == 0);
      CHECK(row.back() == 700);
    }
  }
  CHECK(rows_of("{permutation: n}", Inputs::normal)[0] !=
        rows_of("{permutation: n}", Inputs::normal)[1]);
}

}  // namespace fa_tune::test
