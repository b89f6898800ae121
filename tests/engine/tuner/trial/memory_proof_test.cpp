// Kernels that are quick because the launch before has left its results, or a note, where they find
// them: under a clock that measures, whose launches follow one another in the same buffers.

#include "engine/tuner/trial/memory_proof.hpp"

#include <algorithm>
#include <map>

#include <doctest/doctest.h>

#include "engine/device/local/open.hpp"
#include "engine/gate/timed_launch.hpp"
#include "engine/measure/statistics.hpp"
#include "engine/tuner/task/variant.hpp"
#include "engine/tuner/trial/validated_timing.hpp"
#include "tests/engine/problem/custom/custom_space.hpp"
#include "tests/engine/tuner/measuring_emulator.hpp"

using namespace fa_tune;

namespace {

// c = a b for matrices of 96 by 96, with a workspace for whoever has a use for one.
const char* const kSpace = R"yaml(space: products
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

const char* const kPlain = R"(
__global__ void plain(const float* a, const float* b, float* c, int* notes, int n) {
  const int row = blockIdx.x, column = blockIdx.y * 32 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
  c[row * n + column] = sum;
}
)";

const char* const kMine = R"(
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
const char* const kSortSpace = R"yaml(space: sorts
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

const char* const kSortPlain = R"(
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

const char* const kSortMine = R"(
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

Texts products(int n = 96) {
  return {test::replace(kSpace, {{"{n: 96}", "{n: " + std::to_string(n) + "}"}})};
}
Texts sorts() { return {kSortSpace, kSortPlain, kSortMine}; }

class Field {
 public:
  explicit Field(const Texts& texts = products()) {
    test::write_text(folder_ / "plain.cu", texts.plain);
    test::write_text(folder_ / "mine.cu", texts.mine);
    test::write_text(folder_ / "space.yaml", texts.space);
    task_.emplace(test::opened(load_space_file((folder_ / "space.yaml").string(), test::root())));
  }

  const TuningTask& task() const { return *task_; }
  Config config(int cheat) const {
    return Config({{"template", std::string("mine")}, {"CHEAT", std::int64_t{cheat}}});
  }

  // Measured by the model of launches that follow one another.
  std::unique_ptr<Device> clock() const {
    return std::make_unique<test::MeasuringEmulator>(predictor(), nullptr);
  }
  std::unique_ptr<Device> predictor() const {
    return open_device("emulator:h100", task_->target, test::root());
  }

  // What the clock says, and what it took.
  std::pair<std::string, double> time(std::unique_ptr<Device> device, int cheat, Effort effort,
                                      ValidatedTimer::Proof proof) const {
    test::Bench bench(*task_, std::move(device));
    ValidatedTimer timer(*task_->problem, task_->target, bench.device(), bench.truth(), 7, proof);
    Variant variant(
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
  std::optional<TuningTask> task_;
};

}  // namespace

TEST_CASE("memory: what a launch leaves in its buffers buys no time, measured or predicted") {
  const Field field;
  for (const Effort effort : {Effort::screen, Effort::final_}) {
    const auto honest = field.time(field.clock(), 0, effort, ValidatedTimer::Proof::where_measured);
    CHECK(honest.first == "passed");
    for (const int cheat : {1, 3, 4, 5, 6}) {
      CAPTURE(cheat);
      const auto told =
          field.time(field.clock(), cheat, effort, ValidatedTimer::Proof::where_measured);
      CHECK(told.first.starts_with("lives_on_memory: it takes "));
    }
  }
  CHECK(field.time(field.predictor(), 0, Effort::final_, ValidatedTimer::Proof::always).first ==
        "passed");
  for (const int cheat : {1, 3, 4, 5, 6}) {
    CAPTURE(cheat);
    const auto told =
        field.time(field.predictor(), cheat, Effort::final_, ValidatedTimer::Proof::always);
    CHECK(told.first.starts_with("lives_on_memory: it takes "));
    // Where memory is fresh when the model is asked the time is that of the whole work.
    CHECK(
        field.time(field.predictor(), cheat, Effort::screen, ValidatedTimer::Proof::where_measured)
            .second >
        0.9 *
            field.time(field.predictor(), 0, Effort::screen, ValidatedTimer::Proof::where_measured)
                .second);
  }
}

TEST_CASE("memory: what is written over is given anew for every timed launch, correct or not") {
  const Field field(sorts());
  const auto fresh =
      field.time(field.predictor(), 0, Effort::final_, ValidatedTimer::Proof::where_measured);
  REQUIRE(fresh.first == "passed");
  for (const Effort effort : {Effort::screen, Effort::final_})
    for (const int cheat : {0, 1}) {
      CAPTURE(cheat);
      const auto told =
          field.time(field.clock(), cheat, effort, ValidatedTimer::Proof::where_measured);
      CHECK(told.first == "passed");
      CHECK(told.second > 0.95 * fresh.second);
    }
  for (const int cheat : {0, 1})
    CHECK(
        field.time(field.predictor(), cheat, Effort::final_, ValidatedTimer::Proof::always).first ==
        "passed");
}

TEST_CASE("memory: the gate changes a few elements, and sees who looked at others alone") {
  const Field field;
  const auto gated = [&](int cheat) {
    test::Bench bench(field.task(), field.predictor());
    return bench.gate(field.task().templates[0], field.config(cheat), "quick").finding;
  };
  for (const int honest : {0, 5, 6}) CHECK(gated(honest) == Finding::passed);
  for (const int cheat : {1, 3, 4}) {
    CAPTURE(cheat);
    CHECK(gated(cheat) == Finding::stale);
  }
}

TEST_CASE("memory: a kernel that keeps state is bound by nobody, whatever command asks") {
  const test::CustomSpace place;
  const Verdict verdict =
      place.gate_kernel("__global__ void scale_add(const T* x, T* y, T a, int n) {",
                        "__global__ void scale_add(const T* x, T* y, T a, int n) {\n  static "
                        "__device__ int launches;\n"
                        "  if (atomicAdd(&launches, 1) < 0) return;");
  CHECK(verdict.finding == Finding::not_bound);
  CHECK(verdict.message.starts_with("keeps device memory from launch to launch: "));
}

namespace {

// A clock whose kernel takes `us` by what is done before each launch and by how often it was asked.
class ScriptedClock : public test::MeasuringEmulator {
 public:
  using Script = std::function<double(const BufferChanges& before_each, int asked)>;
  ScriptedClock(std::unique_ptr<Device> inner, Script script)
      : MeasuringEmulator(std::move(inner), nullptr), script_(std::move(script)) {}
  std::expected<Timing, Fault> time(const Launch&, const TimingPlan& plan) override {
    launches += plan.launches_per_sample * (plan.samples + plan.warm_up_samples);
    Timing timing;
    timing.samples_us.assign(static_cast<std::size_t>(plan.samples),
                             script_(plan.before_each, asked_++));
    return timing;
  }
  int launches = 0;

 private:
  Script script_;
  int asked_ = 0;
};

}  // namespace

TEST_CASE("memory: which kernels fail under the clock, and what it costs") {
  const Field field;
  const auto told = [&](const ScriptedClock::Script& script, Effort effort, double us = 4,
                        bool slow = false, const BufferChanges& restore = {}) {
    ScriptedClock clock(field.predictor(), script);
    TruthCache truths(*field.task().problem);
    const auto truth = truths.get({field.task().problem->shape(), Inputs::normal, 3});
    const MemoryRefresh refresh(clock, truth->instance.tensors, [&](std::size_t) {
      return Place{BufferHandle{77}, 0};
    });
    Measurement measured;
    measured.time_us.value = us;
    const Launch launch;
    const auto found =
        find_life_on_memory(clock, {launch, restore, refresh, measured, effort, slow});
    return std::pair(found ? found->finding : "none", clock.launches);
  };
  const auto is_own = [&](const BufferChanges& changes) {
    return !changes.fills.empty() && changes.fills[0].buffer == BufferHandle{77};
  };
  const auto is_usual = [](const BufferChanges& changes) { return changes.empty(); };
  for (const Effort effort : {Effort::screen, Effort::final_}) {
    // The fill costs 3 us; a cache that holds decoys besides makes the kernel slower, not faster.
    CHECK(told(
              [&](const auto& changes, int) {
                return is_usual(changes) ? 4 : is_own(changes) ? 7 : 8;
              },
              effort)
              .first == "none");
    CHECK(told(
              [&](const auto& changes, int) {
                return is_usual(changes) ? 4 : is_own(changes) ? 7.3 : 7;
              },
              effort)
              .first == "none");
    CHECK(told(
              [&](const auto& changes, int) {
                return is_usual(changes) ? 4 : is_own(changes) ? 7.5 : 7;
              },
              effort)
              .first == "lives_on_memory");
    // An accident happens once.
    CHECK(told(
              [&](const auto& changes, int n) {
                return is_usual(changes) ? 4 : is_own(changes) && n < 3 ? 20 : 7;
              },
              effort)
              .first == "none");
    // One that begins to work again when its count was taken from it.
    CHECK(told(
              [&](const auto& changes, int n) {
                return n < (effort == Effort::screen ? 1 : 2) ? (is_usual(changes) ? 4.0 : 7.0)
                       : is_usual(changes)                    ? 12.0
                                                              : 15.0;
              },
              effort)
              .first == "lives_on_memory");
  }
  const auto steady = [&](double us) { return [us](const BufferChanges&, int) { return us; }; };
  // Of a launch of 4 us 78 more, of one of 60 us 16, of one of milliseconds 2; of one that is slow
  // anyway fewer.
  CHECK(told(steady(4), Effort::screen).second == 2 * 3 * 13);
  CHECK(told(steady(60), Effort::screen, 60).second == 2 * 4 * 2);
  CHECK(told(steady(5000), Effort::screen, 5000).second == 2);
  CHECK(told(steady(60), Effort::screen, 60, true).second == 2 * 2 * 2);
  CHECK(told(steady(4), Effort::final_).second == 3 * 10 * 13);
  // Of what is restored before each, single launches.
  const BufferChanges restore{{}, {{BufferHandle{1}, BufferHandle{2}, 4}}};
  CHECK(told(steady(4), Effort::screen, 4, false, restore).second == 2 * 26);
}

TEST_CASE("memory: what is done for the proof and for its control is as much, on other memory") {
  const Field field;
  const auto device = field.predictor();
  TruthCache truths(*field.task().problem);
  const auto truth = truths.get({field.task().problem->shape(), Inputs::normal, 3});
  std::vector<Tensor> tensors = truth->instance.tensors;
  tensors[1].role = Role::inout;  // which is restored anyway
  const MemoryRefresh refresh(*device, tensors, [](std::size_t i) {
    return Place{static_cast<BufferHandle>(100 + i), 4096};
  });
  REQUIRE(refresh.own.fills.size() == 2);
  CHECK(refresh.own.copies.empty());
  CHECK(refresh.own.fills[0].buffer == BufferHandle{102});
  CHECK(refresh.own.fills[1].buffer == BufferHandle{103});
  REQUIRE(refresh.decoy.fills.size() == 2);
  CHECK(refresh.decoy.copies.empty());
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(refresh.decoy.fills[i].bytes == refresh.own.fills[i].bytes);
    CHECK(refresh.decoy.fills[i].buffer == refresh.decoys->handle());
  }
}

namespace {

// The field's kernel without a cheat, ready to be timed.
struct Honest {
  Honest(const Field& field, std::unique_ptr<Device> device)
      : bench(field.task(), std::move(device)),
        variant(make_variant(field.task(), field.config(0), bench.pool(), bench.device())),
        truth(bench.truth().get({field.task().problem->shape(), Inputs::normal, 3})),
        timed(bench.device(), variant->bind(field.task().problem->shape()).value(), truth,
              nullptr) {}

  std::vector<double> time(const TimingPlan& plan) {
    return bench.device().time(timed.launch(), plan)->samples_us;
  }

  test::Bench bench;
  std::unique_ptr<Variant> variant;
  TimedLaunch::EntryPtr truth;
  TimedLaunch timed;
};

}  // namespace

// FA_TUNE_TEST_DEVICE=cuda:0; on an emulator nothing is left to see.
TEST_CASE("memory: on a GPU the same fail, and what a correct kernel's two times are") {
  if (test::device_under_test().starts_with("emulator")) return;
  for (const int n : {96, 256}) {
    CAPTURE(n);
    const Field field(products(n));
    const auto gpu = [&] {
      return open_device(test::device_under_test(), field.task().target, test::root());
    };
    for (const Effort effort : {Effort::screen, Effort::final_}) {
      const auto honest = field.time(gpu(), 0, effort, ValidatedTimer::Proof::where_measured);
      CHECK(honest.first == "passed");
      for (const int cheat : {1, 3, 4, 6}) {
        const auto told = field.time(gpu(), cheat, effort, ValidatedTimer::Proof::where_measured);
        MESSAGE("n ", n, ", cheat ", cheat, ": ", told.first, ", ", told.second);
        CHECK(told.first.starts_with("lives_on_memory"));
      }
    }
    Honest kernel(field, gpu());
    const MemoryRefresh refresh = kernel.timed.refresh(kernel.truth);
    for (int round = 0; round < 3; ++round) {
      const auto us = [&](const BufferChanges& changes) {
        TimingPlan plan{25, 9, 1};
        plan.before_each = changes;
        return median(kernel.time(plan));
      };
      const double usual = us({}), decoy = us(refresh.decoy), own = us(refresh.own);
      MESSAGE("n ", n, ": ", usual, " us, after fills of decoys ", decoy, ", of its own ", own);
      CHECK(own - decoy < 0.05 * usual + 0.2);
    }
  }
}

TEST_CASE("memory: on a GPU a sort in place passes, and its time is that of what is given") {
  if (test::device_under_test().starts_with("emulator")) return;
  const Field field(sorts());
  const auto gpu = [&] {
    return open_device(test::device_under_test(), field.task().target, test::root());
  };
  std::map<int, double> us;
  for (const Effort effort : {Effort::screen, Effort::final_})
    for (const int cheat : {0, 1}) {
      const auto told = field.time(gpu(), cheat, effort, ValidatedTimer::Proof::where_measured);
      MESSAGE("sort ", cheat, ": ", told.first, ", ", told.second, " us");
      CHECK(told.first == "passed");
      us[cheat] = told.second;
    }
  CHECK(us[1] > 0.9 * us[0]);
  // What restoring is worth, and what a pause between samples costs one of them.
  Honest kernel(field, gpu());
  const auto time = [&](const BufferChanges& restore) {
    TimingPlan plan{25, 50, 3};
    plan.restore = restore;
    return kernel.time(plan);
  };
  const auto sorted = time({}), given = time(kernel.timed.restore());
  MESSAGE("sorted ", median(sorted), " us, as given ", median(given), " us, from ",
          std::ranges::min(given), " to ", std::ranges::max(given));
  CHECK(median(given) > 1.5 * median(sorted));
}
