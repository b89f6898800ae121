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

namespace fa_tune {

class DeviceInputCache;

// Why a kernel was rejected, or that it was not.
struct Finding {
  static constexpr auto right = "right";  // every check passed
  static constexpr auto fault = "fault";  // the device stopped it: see the message
  // An output is NaN or infinite where the truth is not; unwritten elements too.
  static constexpr auto not_finite = "not_finite";
  static constexpr auto wrong = "wrong";  // an element is further from the truth than its bound
  // Every element is within its bound but the whole is not (relative RMS).
  static constexpr auto imprecise = "imprecise";
  static constexpr auto guard_damaged = "guard_damaged";  // it wrote outside its buffers
  static constexpr auto input_changed = "input_changed";  // it wrote to an input
  static constexpr auto stale = "stale";  // the output stayed as it was when an input changed
  // Two runs on the same inputs differ.
  static constexpr auto not_deterministic = "not_deterministic";
  static constexpr auto too_fast = "too_fast";  // timed below what the device could do at most
  // Faster where it finds what the launch before has left in its buffers.
  static constexpr auto lives_on_memory = "lives_on_memory";
  // It could not be built or launched for a shape of the suite.
  static constexpr auto not_bound = "not_bound";
};

// not_bound for a kernel that never ran, fault for the rest.
Rejection rejection_of(const Fault& fault);

struct Verdict {
  std::string finding = Finding::right;
  std::string message;     // one line; empty if right
  std::string where;       // the shape and inputs of the case that decided
  int cases = 0;           // run, the deciding one included
  double worst_ratio = 0;  // largest error / bound over all cases
  double worst_rms = 0;    // largest relative RMS error

  bool right() const { return finding == Finding::right; }
  // Of one that is not right.
  Rejection rejection() const { return {finding, message + " (" + where + ")"}; }
};

// A kernel made ready for one shape. `argument_names` are those of the template's manifest; each is
// a tensor or scalar of the Instance, or the name of one of `maps`.
struct BoundKernel {
  KernelHandle kernel{};
  LaunchConfig launch;
  std::vector<std::string> argument_names;
  std::vector<MappedTensor> maps = {};
};

// Gives the kernel under test for a shape, compiling and loading as need be; the message if it
// cannot. The gate asks again for every shape; the binder keeps what it has made.
using Binder = std::function<std::expected<BoundKernel, std::string>(const Constants& shape)>;

struct GateCase {
  Constants shape;
  Inputs inputs = Inputs::normal;
  std::uint64_t seed = 0;
  // On a device that can, watch the kernel at it (Checks::all) and run it in other orders of
  // events: some four launches more. For small shapes.
  bool watched = false;
  // Then once more in the same buffers with other contents in one input, the n-th, counted round:
  // the output must follow.
  std::optional<std::size_t> changed_input = {};
  // Of that input a few elements alone: a kernel that looks at some of what it is given, or at a
  // part of what it has given before, to know whether the rest can stay takes the same path as
  // before for most of its output.
  bool few_elements = false;
};

// Which kinds of input a shape meets.
enum class Crossing {
  dealt,  // they take turns, so that all occur; the seed draws who meets whom. Rare kinds meet all
  // The same, and each shape meets one kind whose elements differ: where they are alike or mostly
  // 0, what an emulator watches is overwritten by its like, and that is no race.
  watched,
  full  // each meets all, in suites of a few shapes: for what is told to others
};
// The cases of a suite with seeds drawn from `seed`. Those of the suite `quick` are watched, and in
// those and the ragged ones inputs are changed.
//
// What is never tried: sizes, kinds and scalars other than those the problem names or draws,
// infinite and NaN inputs, and inputs that a distribution of the space cannot give.
std::vector<GateCase> gate_cases(const Suite& suite, std::uint64_t seed,
                                 Crossing crossing = Crossing::dealt);
// The problem's hidden shapes of that seed, with inputs drawn by it; one of each is changed.
std::vector<GateCase> hidden_cases(const Problem& problem, std::uint64_t seed);
// How much of the timed shape a trial is gated on. Its copies and comparisons are most of what a
// trial costs a GPU, and kinds of input have been through the smaller shapes already.
enum class TimedShape {
  none,
  one,   // with normal inputs
  some,  // with normal inputs, and with those whose softmax is sharpest
  all,   // with every kind
};
// How much of it trials see: `some` on a device that measures; on an emulator, which takes long for
// large shapes, one if it is small or no more work than the suite `quick` together, else none.
TimedShape timed_shape_of_trials(const Problem& problem, bool measured);
// What every trial is gated on: the suite `quick`, the hidden shapes, and the timed shape. What
// tells most comes first.
std::vector<GateCase> trial_cases(const Problem& problem, std::uint64_t seed, TimedShape timed);

// Instances with their truth, kept by case because float64 attention is slow: a run gates hundreds
// of kernels on the same cases. Bounded by bytes; the kernel under test never sees what is kept
// here.
class TruthCache {
 public:
  // Room for what finals go through for each finalist: all six kinds of inputs at the timed shape,
  // the two of the clock, and the suites beside them. With less all would be made anew for every
  // finalist. 3 GiB hold those of attention at 16,384 rows of 128 columns in 16 heads, 240 MB each;
  // a softmax of 8192 x 4096 needs 5, and the two kinds that a sum of two inputs of 2 GiB meets 28.
  // Where there is more memory a quarter of it.
  static std::size_t usual_bytes();

  // The problem must outlive it.
  explicit TruthCache(const Problem& problem, Truth truth = Truth::usual,
                      std::size_t max_bytes = usual_bytes());
  ~TruthCache();

  struct Entry {
    Instance instance;
    std::vector<Expectation> expectations;
    std::string changed;  // what get_changed() changed: "Q", "4 elements of Q"
    // Why there is no truth, where there need be none (may_lack_truth); then no expectations.
    std::string lacks;

    const Expectation& expectation_of(const Tensor& output) const;
  };
  std::shared_ptr<const Entry> get(const GateCase& gate_case);
  // The same with the input that gate_case.changed_input names drawn from another seed.
  std::shared_ptr<const Entry> get_changed(const GateCase& gate_case);

 private:
  struct State;
  std::shared_ptr<const Entry> look_up(const GateCase& gate_case);
  std::unique_ptr<State> state_;
};

// Decides whether a kernel is right. For each case: fresh buffers with guard bands on both sides,
// outputs and workspaces filled with NaN, launch, compare with the truth, look at guards and
// inputs; a second run from the same state must give the same bits, on an emulator in another order
// of events; where one input is changed in its place the output must become the new truth. Stops at
// the first refusal. A case whose inputs may lack a truth is left out where they do.
//
// With an input cache large tensors stay on the device (see there); what is refused by ones that
// were damaged is judged once more without.
class Gate {
 public:
  Gate(Device& device, TruthCache& truth, DeviceInputCache* input_cache = nullptr)
      : device_(device), truth_(truth), input_cache_(input_cache) {}

  // Throws std::logic_error if there is nothing to check it on: that would be right of anything.
  Verdict check(const Binder& bind, const std::vector<GateCase>& cases);

 private:
  std::optional<Rejection> check(const BoundKernel& kernel, const GateCase& gate_case,
                                 DeviceInputCache* input_cache, Verdict& verdict);

  Device& device_;
  TruthCache& truth_;
  DeviceInputCache* input_cache_;
};

}  // namespace fa_tune
