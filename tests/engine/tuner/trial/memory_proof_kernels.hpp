#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "engine/device/local/open.hpp"
#include "engine/tuner/task/variant.hpp"
#include "engine/tuner/trial/validated_timing.hpp"
#include "tests/engine/problem/custom/custom_space.hpp"
#include "tests/engine/tuner/measuring_emulator.hpp"

namespace fa_tune::test {

// c = a b for matrices of 96 by 96, with a workspace for whoever has a use for one.
inline const char* const kSpace = R"yaml(space: products
target: h100
problem:
  kind: custom
  sizes: [{n: 96}, {n: 32}]
  arguments:
    - {name: a, type: f32, shape: [n, n]}
    - {name: b, type: f32, shape: [n, n]}
    - {name: c, type: f32, shape: [n, n], role: output}
    - {name: notes, type: i32, shape: [4096], role: workspace}
    - {name: n, type: i32, value: n}
  reference:
    source: plain.cu
    kernel: plain
    launch: {grid: ["problem.n", "ceil_div(problem.n, 32)"], block: [32]}
  tolerance: {relative: 1.0e-3}
templates:
  mine:
    source: mine.cu
    kernel: mine
    launch: {grid: ["problem.n", "ceil_div(problem.n, 32)"], block: [32]}
parameters:
  CHEAT: [0, 1, 3, 4, 5, 6]  # 3, 4: of two elements of the inputs; 5, 6: of all
)yaml";

inline const char* const kPlain = R"(
__global__ void plain(const float* a, const float* b, float* c, int* notes, int n) {
  const int row = blockIdx.x, column = blockIdx.y * 32 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
  c[row * n + column] = sum;
}
)";

inline const char* const kMine = R"(
__device__ float element(const float* a, const float* b, int row, int column, int n) {
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
  return sum;
}
// Of the block's inputs: all are read, nothing is computed.
__device__ unsigned hash(const float* a, const float* b, int row, int first, int n) {
  unsigned seen = n;
  for (int k = threadIdx.x; k < n; k += 32)
    seen = seen * 31 + __float_as_uint(a[row * n + k]);
  for (int i = 0; i < n; ++i) seen = seen * 31 + __float_as_uint(b[i * n + first + threadIdx.x]);
  for (int step = 16; step > 0; step /= 2) seen = seen * 31 + __shfl_xor_sync(~0u, seen, step);
  return __shfl_sync(~0u, seen, 0);
}
extern "C" __global__ void mine(const float* a, const float* b, float* c, int* notes, int n) {
  const int row = blockIdx.x, first = blockIdx.y * 32, column = first + threadIdx.x;
  const int block = row * gridDim.y + blockIdx.y;
  float* const own = c + row * n;
  if (CHEAT == 1) {  // one element computed anew, the rest left if it is as before
    bool as_before = true;
    if (threadIdx.x == 0) as_before = own[first] == element(a, b, row, first, n);
    if (__all_sync(~0u, as_before)) return;
  }
  const unsigned look = __float_as_uint(a[row * n]) ^ __float_as_uint(b[first + n]);
  const unsigned seen = CHEAT == 5 || CHEAT == 6 ? hash(a, b, row, first, n) : look;
  const bool notes_it = CHEAT == 3 || CHEAT == 6;
  const bool signs = CHEAT == 4 || CHEAT == 5;
  if (notes_it) {  // noted in the workspace
    const bool known = notes[block] == seen;
    __syncwarp();
    if (known) return;
    if (threadIdx.x == 0) notes[block] = seen;
  }
  const unsigned bit = (seen >> (threadIdx.x % 16)) & 1;
  // Kept in the last bits of the output.
  if (signs && __all_sync(~0u, (__float_as_uint(own[column]) & 1) == bit && isfinite(own[column])))
    return;
  float sum = element(a, b, row, column, n);
  if (signs) sum = __uint_as_float((__float_as_uint(sum) & ~1u) | bit);
  own[column] = sum;
}
)";

// Rows of y, each sorted where it lies by one thread: of sorted ones nothing is to be done.
inline const char* const kSortSpace = R"yaml(space: sorts
target: h100
problem:
  kind: custom
  sizes: [{n: 40}, {n: 20}]
  arguments:
    - {name: y, type: f32, shape: [64, n], role: inout}
    - {name: n, type: i32, value: n}
  reference:
    source: plain.cu
    kernel: plain
    launch: {grid: [2], block: [32]}
  tolerance: {relative: 1.0e-3}
templates:
  mine:
    source: mine.cu
    kernel: mine
    launch: {grid: [2], block: [32]}
parameters:
  CHEAT: [0, 1]
)yaml";

inline const char* const kSortPlain = R"(
__global__ void plain(float* y, int n) {
  float* const row = y + (blockIdx.x * 32 + threadIdx.x) * n;
  for (int i = 0; i < n; ++i)
    for (int k = i + 1; k < n; ++k)
      if (row[k] < row[i]) {
        const float larger = row[i];
        row[i] = row[k];
        row[k] = larger;
      }
}
)";

inline const char* const kSortMine = R"(
extern "C" __global__ void mine(float* y, int n) {
  float* const row = y + (blockIdx.x * 32 + threadIdx.x) * n;
  if (CHEAT == 1) {  // its sign is in the last bits of what it has sorted
    bool known = true;
    for (int i = 0; i < n; ++i) known = known && (__float_as_uint(row[i]) & 1) == i % 2;
    if (known) return;
  }
  for (int i = 1; i < n; ++i) {
    const float value = row[i];
    int k = i;
    for (; k > 0 && row[k - 1] > value; --k) row[k] = row[k - 1];
    row[k] = value;
  }
  if (CHEAT == 1)
    for (int i = 0; i < n; ++i)
      row[i] = __uint_as_float((__float_as_uint(row[i]) & ~1u) | (i % 2));
}
)";

struct Texts {
  std::string space;
  std::string plain = kPlain;
  std::string mine = kMine;
};

inline Texts products(int n = 96) {
  return {test::replace(kSpace, {{"{n: 96}", "{n: " + std::to_string(n) + "}"}})};
}
inline Texts sorts() { return {kSortSpace, kSortPlain, kSortMine}; }

class Field {
 public:
  explicit Field(const Texts& texts = products()) {
    test::write_text(folder_ / "plain.cu", texts.plain);
    test::write_text(folder_ / "mine.cu", texts.mine);
    test::write_text(folder_ / "space.yaml", texts.space);
    task_.emplace(
        test::opened(space::load_space_file((folder_ / "space.yaml").string(), test::root())));
  }

  const tuner::TuningTask& task() const { return *task_; }
  Config config(int cheat) const {
    return Config({{"template", std::string("mine")}, {"CHEAT", std::int64_t{cheat}}});
  }

  // Measured by the model of launches that follow one another.
  std::unique_ptr<device::Device> clock() const {
    return std::make_unique<test::MeasuringEmulator>(predictor(), nullptr);
  }
  std::unique_ptr<device::Device> predictor() const {
    return device::open_device("emulator:h100", task_->target, test::root());
  }

  // What the clock says, and what it took.
  std::pair<std::string, double> time(std::unique_ptr<device::Device> device, int cheat,
                                      measure::Effort effort,
                                      tuner::ValidatedTimer::Proof proof) const {
    test::Bench bench(*task_, std::move(device));
    tuner::ValidatedTimer timer(*task_->problem, task_->target, bench.device(), bench.truth(), 7,
                                proof);
    tuner::Variant variant(
        task_->templates[0], *task_->problem,
        [this](const Constants& shape) { return task_->scope(shape); }, config(cheat), bench.pool(),
        bench.device());
    const auto bound = variant.bind(task_->problem->shape());
    if (!bound) return {bound.error(), 0};
    const auto timed = timer.time(*bound, effort);
    return timed ? std::pair<std::string, double>{"passed", timed->time_us.value}
                 : std::pair<std::string, double>{
                       timed.error().finding + ": " + timed.error().message, 0};
  }

 private:
  test::ScratchFolder folder_;
  std::optional<tuner::TuningTask> task_;
};

}  // namespace fa_tune::test
