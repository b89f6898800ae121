#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <semaphore>
#include <string>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/gate/gate.hpp"
#include "engine/kernel/compile/compiler.hpp"
#include "engine/tuner/task/tuning_task.hpp"
#include "engine/tuner/trial/validated_timing.hpp"

namespace fa_tune {

// Opens an emulator of this profile that may execute `instructions` warp instructions in all. What
// it runs are strangers' kernels: in a process of its own.
using EmulatorOpener = std::function<std::unique_ptr<Device>(const DeviceProfile& profile,
                                                             std::uint64_t instructions)>;

// What the emulator's checks say of one kernel.
struct SanitizerResult {
  std::optional<Rejection> rejection;  // what is against the kernel, if anything is
  int cases = 0;                       // run to their end
  int of = 0;
  std::string cut_short;  // why not all of them; empty if all were, or if there is no check

  bool whole() const { return cut_short.empty(); }
  // "all 6 cases", "2 of 6 cases: ...", "not looked at: ...".
  std::string text() const;
};

// Runs a kernel that a GPU is to vouch for on the emulator too, which sees more: with all of its
// checks and in other orders of events. A race that goes well by chance, a barrier
// that one warp does not reach, a copy that nobody waits for: a GPU may run such a kernel right for
// years.
class SanitizerCheck {
 public:
  // For one kernel, as open_emulator counts them: the emulator executes 44 million a second, fewer
  // under its checks, so some 10 to 30 seconds. Not seconds themselves: what is found must not
  // depend on the machine.
  static constexpr std::uint64_t kInstructions = 400'000'000;
  static constexpr double kMostBytes = 256.0 * (1 << 20);

  // `device`: the one that kernels run on. Nothing is checked where that is an emulator itself, or
  // no profile in search_spaces/devices is for it, or there is no `open`, which is logged. Cases
  // that need more than kMostBytes are left out. The task and the pool must outlive this and
  // every answer.
  SanitizerCheck(const TuningTask& task, const Device& device, CompilePool& pool,
                 EmulatorOpener open, std::uint64_t seed,
                 std::uint64_t instructions = kInstructions);
  // Checks that have not begun are dropped.
  ~SanitizerCheck() { over_ = true; }
  SanitizerCheck(const SanitizerCheck&) = delete;
  SanitizerCheck& operator=(const SanitizerCheck&) = delete;

  bool enabled() const { return profile_ && !cases_.empty(); }
  // Begins, on a thread of its own, to run the suite `quick`; as many at once as there are cores.
  // What the emulator does not know, as an instruction of a newer GPU, is nothing against a kernel,
  // nor is that its process died: then it was not checked.
  std::future<SanitizerResult> start(const Template& from, const Config& config);

 private:
  SanitizerResult run(const Template& from, const Config& config);
  // Nothing where the emulator's process died.
  std::optional<SanitizerResult> try_to_run(const Template& from, const Config& config);

  const TuningTask& task_;
  CompilePool& pool_;
  EmulatorOpener open_;
  std::optional<DeviceProfile> profile_;
  TruthCache truth_;
  std::vector<GateCase> cases_;
  int left_out_ = 0;  // cases that are too large
  std::uint64_t instructions_;
  std::counting_semaphore<> cores_;
  std::atomic<bool> over_{false};
};

}  // namespace fa_tune
