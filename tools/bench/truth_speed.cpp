// What the gate's truth costs: drawing the inputs of a shape, and float64 attention of its rows or
// of a sample of them, beside the least that this machine could need.
//
//   bench_truth_speed B H L D [causal] [thorough]   JSON to standard output
//
// The least: the oracle's five products (two in double, three in single precision, each of the
// sampled pairs times D) at the speed that the products' inner loop has by itself, on data in the
// first cache, on all cores.

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "engine/base/parallel.hpp"
#include "engine/base/stopwatch.hpp"
#include "engine/problem/attention.hpp"
#include "engine/problem/attention_products.hpp"

namespace {

using namespace fa_tune;

const Products& fastest() {
#ifdef FA_TUNE_AVX2
  if (__builtin_cpu_supports("avx2")) return avx2::products;
#endif
  return plain::products;
}

// Multiplications a second of all cores together.
template <typename Real>
double speed_of(Product<Real> product) {
  constexpr std::size_t inner = 64, width = 32, calls = 100'000;
  const std::size_t threads = std::thread::hardware_concurrency();
  const Stopwatch watch;
  in_parallel(threads, threads, [&](std::size_t) {
    std::vector<Real> out(product_rows * width), left(product_rows * inner, Real{1}),
        right(inner * width, Real{1});
    for (std::size_t i = 0; i < calls; ++i)
      product(out.data(), width, left.data(), inner, right.data(), inner, width);
  });
  return static_cast<double>(threads * calls * product_rows * inner * width) /
         (watch.milliseconds() / 1000);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    fmt::print(stderr, "bench_truth_speed B H L D [causal] [thorough]\n");
    return 2;
  }
  AttentionShape shape{
      .B = std::atoll(argv[1]), .H = std::atoll(argv[2]), .D = std::atoll(argv[4])};
  shape.Lq = shape.Lk = std::atoll(argv[3]);
  Truth truth = Truth::usual;
  for (int i = 5; i < argc; ++i) {
    shape.causal = shape.causal || std::string(argv[i]) == "causal";
    if (std::string(argv[i]) == "thorough") truth = Truth::thorough;
  }
  const AttentionProblem problem(shape);
  const Coverage coverage = problem.coverage(problem.shape(), truth);
  const Stopwatch making;
  const Instance instance = problem.make(problem.shape(), Inputs::normal, 1);
  const double make_ms = making.milliseconds();
  const Stopwatch computing;
  const auto expected = problem.expect(instance, truth);
  const double truth_ms = computing.milliseconds();

  const double multiplications = problem.flop(problem.shape()) / 4 *
                                 static_cast<double>(coverage.rows) /
                                 static_cast<double>(coverage.of);
  const double least_ms = 1000 * multiplications *
                          (2 / speed_of(fastest().in_double) + 3 / speed_of(fastest().in_single));
  const nlohmann::ordered_json result = {
      {"shape", problem.describe(problem.shape())},
      {"threads", std::thread::hardware_concurrency()},
      {"rows", coverage.rows},
      {"of_rows", coverage.of},
      {"one_of_every", coverage.every},
      {"make_ms", make_ms},
      {"truth_ms", truth_ms},
      {"gflops", 10 * multiplications / truth_ms / 1e6},
      {"least_ms", least_ms},
      {"times_the_least", truth_ms / least_ms},
  };
  fmt::print("{}\n", result.dump(1));
  return 0;
}
