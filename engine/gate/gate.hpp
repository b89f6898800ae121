#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/problem/problem.hpp"

namespace fa_tune {

// Why a kernel was refused, or that it was not.
enum class Finding {
  right,              // every check passed
  fault,              // the device stopped it: see Verdict::message
  not_finite,         // an output is NaN or infinite where the truth is not; unwritten elements too
  wrong,              // an element is further from the truth than its bound
  imprecise,          // every element is within its bound but the whole is not (relative RMS)
  guard_damaged,      // it wrote outside its buffers
  input_changed,      // it wrote to an input
  not_deterministic,  // two runs on the same inputs differ
  not_bound,          // it could not be built or launched for a shape of the suite
};

std::string to_text(Finding finding);

struct Verdict {
  Finding finding = Finding::right;
  std::string message;     // one line; empty if right
  std::string where;       // the shape and inputs of the case that decided
  int cases = 0;           // run, the deciding one included
  double worst_ratio = 0;  // largest error / bound over all cases
  double worst_rms = 0;    // largest relative RMS error

  bool right() const { return finding == Finding::right; }
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
};

// The cases of a suite with seeds drawn from `seed`: each shape with inputs that take turns, so
// that all kinds occur. Those of the suite `quick` are watched.
std::vector<GateCase> gate_cases(const Suite& suite, std::uint64_t seed);

// Instances with their truth, kept by case because float64 attention is slow: a run gates hundreds
// of kernels on the same cases. Bounded by bytes; the kernel under test never sees what is kept
// here.
class TruthCache {
 public:
  explicit TruthCache(const Problem& problem, std::size_t max_bytes = std::size_t{1} << 30);
  ~TruthCache();

  struct Entry {
    Instance instance;
    std::vector<Expectation> expectations;
  };
  std::shared_ptr<const Entry> get(const GateCase& gate_case);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Decides whether a kernel is right. For each case: fresh buffers with guard bands on both sides,
// outputs filled with NaN, launch, compare with the truth, look at guards and inputs; a second run
// from the same state must give the same bits, on an emulator in another order of events. Stops at
// the first refusal.
class Gate {
 public:
  Gate(Device& device, TruthCache& truth) : device_(device), truth_(truth) {}

  Verdict check(const Binder& bind, const std::vector<GateCase>& cases);

 private:
  Device& device_;
  TruthCache& truth_;
};

// Arguments for timing a kernel at one shape with real data: buffers filled from an Instance. Owns
// the buffers; the Launch is valid as long as it lives.
class TimedLaunch {
 public:
  // Throws UserError if an argument's name is neither a tensor nor a scalar of the instance nor a
  // map, MachineError if the device cannot be given the arguments.
  TimedLaunch(Device& device, const BoundKernel& kernel, const Instance& instance);
  ~TimedLaunch();
  TimedLaunch(const TimedLaunch&) = delete;
  TimedLaunch& operator=(const TimedLaunch&) = delete;

  const Launch& launch() const { return launch_; }

 private:
  Device& device_;
  std::vector<BufferHandle> buffers_;
  Launch launch_;
};

}  // namespace fa_tune
