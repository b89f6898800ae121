// What the gate's truth costs: drawing the inputs of a shape, and float64 attention of its rows or
// of a sample of them, beside the least that this machine could need.
//
//   bench_truth_speed B H L D [causal] [thorough]   JSON to standard output
//
// Times on the wall, and of all cores together, which a machine that is shared says more by. The
// least: the oracle's five products (two in double, three in single precision, each of the sampled
// pairs times D) at the speed that the products' inner loop has by itself, on data in the first
// cache.

#include <cstdlib>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "engine/problem/attention/attention.hpp"
#include "engine/problem/attention/products.hpp"
#include "engine/util/stopwatch.hpp"

namespace {

using namespace fa_tune;

const problem::Products& fastest() {
#ifdef FA_TUNE_AVX2
  if (__builtin_cpu_supports("avx2")) return problem::avx2::kProducts;
#endif
  return problem::plain::kProducts;
}

// Seconds that all threads of this process have computed.
double core_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Multiplications a second of one core.
template <typename Real>
double speed_of(problem::Product<Real> product) {
  constexpr std::size_t inner = 64, width = 32, calls = 100'000;
  std::vector<Real> out(problem::kProductRows * width),
      left(problem::kProductRows * inner, Real{1}), right(inner * width, Real{1});
  const double before = core_seconds();
  for (std::size_t i = 0; i < calls; ++i)
    product(out.data(), width, left.data(), inner, right.data(), inner, width);
  return static_cast<double>(calls * problem::kProductRows * inner * width) /
         (core_seconds() - before);
}

struct Cost {
  double wall_ms = 0;
  double core_ms = 0;
};

template <typename Work>
Cost cost_of(const Work& work) {
  const Stopwatch watch;
  const double before = core_seconds();
  work();
  return {watch.milliseconds(), 1000 * (core_seconds() - before)};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    fmt::print(stderr, "bench_truth_speed B H L D [causal] [thorough]\n");
    return 2;
  }
  problem::AttentionShape shape{
      .B = std::stoll(argv[1]), .H = std::stoll(argv[2]), .D = std::stoll(argv[4])};
  shape.Lq = shape.Lk = std::stoll(argv[3]);
  problem::Truth truth = problem::Truth::usual;
  for (int i = 5; i < argc; ++i) {
    shape.causal = shape.causal || std::string(argv[i]) == "causal";
    if (std::string(argv[i]) == "thorough") truth = problem::Truth::thorough;
  }
  const problem::AttentionProblem problem(shape);
  const problem::Coverage coverage = problem.coverage(problem.shape(), truth);
  problem::Instance instance;
  const Cost making =
      cost_of([&] { instance = problem.make(problem.shape(), problem::Inputs::normal, 1); });
  const Cost computing = cost_of([&] { problem.expect(instance, truth); });

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
      {"make_wall_ms", making.wall_ms},
      {"make_core_ms", making.core_ms},
      {"truth_wall_ms", computing.wall_ms},
      {"truth_core_ms", computing.core_ms},
      {"gflops_a_core", 10 * multiplications / computing.core_ms / 1e6},
      {"least_core_ms", least_ms},
      {"times_the_least", computing.core_ms / least_ms},
  };
  fmt::print("{}\n", result.dump(1));
  return 0;
}
