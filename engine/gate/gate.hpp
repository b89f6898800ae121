#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/model/rejection.hpp"
#include "engine/problem/problem.hpp"

namespace fa_tune::gate {

class DeviceInputCache;

// What the gate says of a kernel: that it passed, or the first reason why it failed.
struct Finding {
  static constexpr auto kPassed = "passed";  // every check passed
  static constexpr auto kFault = "fault";    // the device stopped it: see the message
  // An output is NaN or infinite where the expected result is finite; unwritten elements too.
  static constexpr auto kNotFinite = "not_finite";
  static constexpr auto kWrong = "wrong";  // an element is off by more than its bound
  // Every element is within its bound but the whole is not (relative RMS).
  static constexpr auto kImprecise = "imprecise";
  static constexpr auto kGuardDamaged = "guard_damaged";  // it wrote outside its buffers
  static constexpr auto kInputChanged = "input_changed";  // it wrote to an input
  static constexpr auto kStale = "stale";  // the output stayed as it was when an input changed
  // Two runs on the same inputs differ.
  static constexpr auto kNotDeterministic = "not_deterministic";
  static constexpr auto kTooFast = "too_fast";  // timed below what the device could do at most
  // It is faster where it finds in its buffers what the launch before left there.
  static constexpr auto kLivesOnMemory = "lives_on_memory";
  // It could not be built or launched for a shape of the suite.
  static constexpr auto kNotBound = "not_bound";
};

// The finding is not_bound for a kernel that never ran, and fault for the rest.
Rejection rejection_of(const device::Fault& fault);

struct Verdict {
  std::string finding = Finding::kPassed;
  std::string message;     // one line; empty if passed
  std::string where;       // the shape and inputs of the case that decided
  int cases = 0;           // that were run, the deciding one included
  double worst_ratio = 0;  // largest error / bound over all cases
  double worst_rms = 0;    // largest relative RMS error
  std::string note;        // of one that passed: what a device found that is no fault

  bool passed() const { return finding == Finding::kPassed; }
  // Of one that did not pass.
  Rejection rejection() const { return {finding, message + " (" + where + ")"}; }
};

// A kernel made ready for one shape. `argument_names` are those of the template's manifest; each
// names a tensor or scalar of the Instance, one of `maps`, or a workspace or scalar of its own.
struct BoundKernel {
  device::KernelHandle kernel{};
  LaunchConfig launch;
  std::vector<std::string> argument_names;
  std::vector<MappedTensor> maps = {};
  // As PlannedLaunch has them: if there are steps, they stand for the three above.
  std::vector<PlannedStep> steps = {};
  std::vector<PlannedWorkspace> workspaces = {};
  std::vector<PlannedScalar> scalars = {};

  static BoundKernel of(device::KernelHandle kernel, PlannedLaunch planned) {
    return {kernel,
            planned.config,
            std::move(planned.arguments),
            std::move(planned.maps),
            std::move(planned.steps),
            std::move(planned.workspaces),
            std::move(planned.scalars)};
  }
};

// Makes the kernel under test ready for a shape: compiles and loads it if need be. The error says
// why it cannot. The gate asks again for every case, so the binder keeps what it has made.
using Binder = std::function<std::expected<BoundKernel, std::string>(const Constants& shape)>;

struct GateCase {
  Constants shape;
  problem::Inputs inputs = problem::Inputs::normal;
  std::uint64_t seed = 0;
  // Run the kernel under the sanitizers (Checks::all) and in other orders of events, on a device
  // that can. This takes some four more launches, so it is for small shapes.
  bool sanitized = false;
  // Run it once more in the same buffers after one input has changed: the output must follow. The
  // number of that input, modulo how many there are.
  std::optional<std::size_t> changed_input = {};
  // Change only a few elements of that input. A kernel may compare some of its inputs, or a part of
  // its last result, with what it saw before, to decide whether the rest can stay. With few changes
  // it takes the same path as before for most of its output, and is found out.
  bool few_elements = false;
};

// Which shapes of a suite meet which kinds of input.
enum class Crossing {
  // The kinds take turns, so that all occur; the seed draws which shape meets which kind. Rare
  // kinds meet all shapes.
  dealt,
  // The same, and each shape also meets a kind whose elements differ. The sanitizers see no race
  // where a value is overwritten by an equal one, as happens where elements are alike or mostly 0.
  sanitized,
  // Each shape meets each kind, in suites of a few shapes. For verdicts that are published.
  full
};
// The cases of a suite with seeds drawn from `seed`. Those of the suite `quick` are sanitized, and
// in those and the ragged ones inputs are changed.
//
// Never tried are sizes, kinds and scalars other than those the problem names or draws, infinite
// and NaN inputs, and inputs that a distribution of the space cannot give.
std::vector<GateCase> gate_cases(const problem::Suite& suite, std::uint64_t seed,
                                 Crossing crossing = Crossing::dealt);
// The problem's hidden shapes of that seed, with inputs drawn by it. One input of each is changed.
std::vector<GateCase> hidden_cases(const problem::Problem& problem, std::uint64_t seed);
// Has one more case sanitized of each shape that has none, as far as an emulator can afford it. The
// shapes that are too large for that come back.
std::vector<Constants> sanitize_more(const problem::Problem& problem, std::vector<GateCase>& cases);
// With which kinds of input a trial is gated at the timed shape. Copies and comparisons of that
// shape are most of what a trial costs a GPU, and the smaller shapes have met all kinds already.
enum class TimedShape {
  none,
  one,   // normal inputs
  some,  // normal inputs, and those whose softmax is sharpest
  all,
};
// What trials use: `some` on a device that measures. An emulator takes long for large shapes, so
// there it is `one` if the shape is small or no more work than the suite `quick`, else `none`.
TimedShape timed_shape_of_trials(const problem::Problem& problem, bool measured);
// What every trial is gated on: the suite `quick`, the hidden shapes, and the timed shape. The
// cases that find most faults come first.
std::vector<GateCase> trial_cases(const problem::Problem& problem, std::uint64_t seed,
                                  TimedShape timed);

// Keeps instances with their expected results (the ground truth), by case. A run gates hundreds of
// kernels on the same cases, and float64 attention is slow. Its size is bounded by bytes. The
// kernel under test never sees what is kept here.
class TruthCache {
 public:
  // Room for what finals need for each finalist: all six kinds of inputs at the timed shape, the
  // two of the clock, and the suites. With less room all would be computed anew for every finalist.
  // 3 GiB hold those of attention at 16,384 rows of 128 columns in 16 heads, 240 MB each. A softmax
  // of 8192 x 4096 needs 5 GiB, and the two kinds that a sum of two inputs of 2 GiB meets need 28.
  // So it is 3 GiB, or a quarter of the machine's memory where that is more.
  static std::size_t usual_bytes();

  // The problem must outlive it.
  explicit TruthCache(const problem::Problem& problem, problem::Truth truth = problem::Truth::usual,
                      std::size_t max_bytes = usual_bytes());
  ~TruthCache();

  struct Entry {
    problem::Instance instance;
    std::vector<problem::Expectation> expectations;
    std::string changed;             // what get_changed() changed: "Q", "4 elements of Q"
    std::size_t changed_tensor = 0;  // its index, if anything is changed
    // Why there is no expected result, where there may be none (may_lack_truth). Then there are no
    // expectations.
    std::string lacks;

    const problem::Expectation& expectation_of(const problem::Tensor& output) const;
  };
  std::shared_ptr<const Entry> get(const GateCase& gate_case);
  // The same with the input that gate_case.changed_input names drawn from another seed.
  std::shared_ptr<const Entry> get_changed(const GateCase& gate_case);

 private:
  struct State;
  std::shared_ptr<const Entry> look_up(const GateCase& gate_case);
  std::unique_ptr<State> state_;
};

// Decides whether a kernel computes the right result. For each case it makes fresh buffers with
// guard bands on both sides, fills outputs and workspaces with NaN (where a device knows what nobody
// has written, a template's own workspaces stay that at first), launches the kernel, compares
// its outputs with the expected ones, and checks guards and inputs. A second run from the same
// state must give the same bits, on an emulator in another order of events. Where one input is
// changed in its place, the output must become the new expected result. The gate stops at the first
// failure. A case without an expected result is left out, if its inputs may lack one.
//
// With an input cache large tensors stay on the device (DeviceInputCache). If a kernel fails and
// the cache was damaged, it is gated once more without the cache.
class Gate {
 public:
  Gate(device::Device& device, TruthCache& truth, DeviceInputCache* input_cache = nullptr)
      : device_(device), truth_(truth), input_cache_(input_cache) {}

  // Throws std::logic_error if there are no cases: every kernel would pass.
  Verdict check(const Binder& bind, const std::vector<GateCase>& cases);

 private:
  std::optional<Rejection> check(const BoundKernel& kernel, const GateCase& gate_case,
                                 DeviceInputCache* input_cache, Verdict& verdict);

  device::Device& device_;
  TruthCache& truth_;
  DeviceInputCache* input_cache_;
};

}  // namespace fa_tune::gate
