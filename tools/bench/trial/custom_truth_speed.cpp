// What a custom problem's truth costs beside its reference kernel, where bounds are measured: a sum
// of two vectors of N floats, whose reference is a loop of this program.
//
//   bench_custom_truth_speed N   JSON to standard output
//
// Nanoseconds an element of the output: drawing the inputs, the truth without what the loop takes,
// and a comparison with it. On the wall, of all cores together, and of these what only one core can
// do, as far as times of threads tell: wall times of a shared machine say little, and where there
// are many cores the serial part is what is left.

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>

#include "engine/gate/compare.hpp"
#include "engine/problem/reference.hpp"
#include "engine/tuner/task/tuning_task.hpp"
#include "engine/util/environment.hpp"
#include "engine/util/file.hpp"
#include "engine/util/memory.hpp"
#include "engine/util/parallel.hpp"
#include "engine/util/stopwatch.hpp"

namespace {

using namespace fa_tune;

// Seconds that all threads of this process have computed, or this one.
double core_seconds(clockid_t of = CLOCK_PROCESS_CPUTIME_ID) {
  timespec now{};
  clock_gettime(of, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Cost {
  double wall_s = 0;
  double core_s = 0;
  double main_s = 0;  // of them in this thread

  // What other threads cannot take a part of, if all else is shared evenly.
  double serial_s() const {
    const double threads = std::max(2U, std::thread::hardware_concurrency());
    return (threads * main_s - core_s) / (threads - 1);
  }
  Cost& operator+=(const Cost& other) {
    wall_s += other.wall_s;
    core_s += other.core_s;
    main_s += other.main_s;
    return *this;
  }
};

template <typename Work>
Cost cost_of(const Work& work) {
  const Stopwatch watch;
  const double before = core_seconds(), main_before = core_seconds(CLOCK_THREAD_CPUTIME_ID);
  work();
  return {watch.milliseconds() / 1000, core_seconds() - before,
          core_seconds(CLOCK_THREAD_CPUTIME_ID) - main_before};
}

class Loop final : public problem::ReferenceRunner {
 public:
  void run(const problem::ReferenceCall&, const problem::Instance& instance,
           const problem::TakeResult& take) override {
    std::span<const std::byte> result;
    const Cost cost = cost_of([&] {
      result = instance.tensors[0].type == DType::f64 ? sum(instance, in_double_)
                                                      : sum(instance, in_float_);
    });
    spent_ += cost;
    ++runs_;
    take(instance.tensors[2], result);
  }

  const Cost& spent() const { return spent_; }
  int runs() const { return runs_; }

 private:
  template <typename Real>
  static std::span<const std::byte> sum(const problem::Instance& instance, std::vector<Real>& z) {
    if (z.empty()) z = large_zeros<Real>(static_cast<std::size_t>(instance.tensors[2].elements()));
    const auto* x = reinterpret_cast<const Real*>(instance.tensors[0].bytes.data());
    const auto* y = reinterpret_cast<const Real*>(instance.tensors[1].bytes.data());
    in_pieces(z.size(), [&](std::size_t first, std::size_t end) {
      for (std::size_t i = first; i < end; ++i) z[i] = x[i] + y[i];
    });
    return std::as_bytes(std::span(z));
  }

  std::vector<float> in_float_;
  std::vector<double> in_double_;
  Cost spent_;
  int runs_ = 0;
};

const char* const kSpace = R"yaml(space: sums
target: h100
problem:
  kind: custom
  sizes: [{{n: {}}}]
  arguments:
    - {{name: x, type: f32, shape: [n]}}
    - {{name: y, type: f32, shape: [n]}}
    - {{name: z, type: f32, shape: [n], role: output}}
    - {{name: n, type: i32, value: n}}
  reference: {{source: add.cu, kernel: add, launch: {{grid: ["ceil_div(problem.n, 256)"], block: [256]}}}}
templates:
  add: {{source: add.cu, kernel: add, launch: {{grid: ["ceil_div(problem.n, 256)"], block: [256]}}}}
parameters:
  BLOCK: [256]
)yaml";

const char* const kAdd = R"(
extern "C" __global__ void add(const float* x, const float* y, float* z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = x[i] + y[i];
}
)";

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "bench_custom_truth_speed N\n");
    return 2;
  }
  const TemporaryFolder folder;
  write_file(folder.path() / "add.cu", kAdd);
  write_file(folder.path() / "sums.yaml", fmt::format(fmt::runtime(kSpace), argv[1]));
  const std::string root = find_root().string();
  const tuner::TuningTask task =
      tuner::open_task(space::load_space_file((folder.path() / "sums.yaml").string(), root), root);
  problem::Problem& problem = *task.problem;
  const auto loop = std::make_shared<Loop>();
  problem.use_reference(loop);
  problem::Instance instance;
  std::vector<problem::Expectation> truth;
  const Cost making =
      cost_of([&] { instance = problem.make(problem.shape(), problem::Inputs::normal, 1); });
  Cost expecting = cost_of([&] { truth = problem.expect(instance, problem::Truth::usual); });
  const Cost& loops = loop->spent();
  expecting += {-loops.wall_s, -loops.core_s, -loops.main_s};
  std::vector<std::byte> result;
  loop->run({}, instance, [&](const problem::Tensor&, std::span<const std::byte> bytes) {
    result.assign(bytes.begin(), bytes.end());
  });
  bool right = false;
  const Cost comparing = cost_of([&] {
    right = gate::compare(instance.tensors[2], result, truth[0]).finding == gate::Finding::kPassed;
  });
  const auto elements = static_cast<double>(truth[0].exact.size());
  const auto told = [&](const Cost& cost) {
    return nlohmann::ordered_json{{"wall_ns", 1e9 * cost.wall_s / elements},
                                  {"core_ns", 1e9 * cost.core_s / elements},
                                  {"serial_ns", 1e9 * cost.serial_s() / elements}};
  };
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const nlohmann::ordered_json told_all = {
      {"elements", elements},
      {"threads", std::thread::hardware_concurrency()},
      {"runs", loop->runs() - 1},
      {"right", right},
      {"rms_bound", *truth[0].rms_bound},
      {"bounds", std::accumulate(truth[0].bound.begin(), truth[0].bound.end(), 0.0) / elements},
      {"make", told(making)},
      {"truth", told(expecting)},
      {"compare", told(comparing)},
      {"most_bytes_an_element", 1024.0 * static_cast<double>(used.ru_maxrss) / elements}};
  fmt::print("{}\n", told_all.dump(1));
  return 0;
}
