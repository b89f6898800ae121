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

namespace fa_tune::tuner {

// Opens an emulator of this profile that may execute `instructions` warp instructions in all. It
// runs in a process of its own, because kernels are not to be trusted.
using EmulatorOpener = std::function<std::unique_ptr<device::Device>(
    const device::DeviceProfile& profile, std::uint64_t instructions)>;

// What the emulator's sanitizers say of one kernel.
struct SanitizerResult {
  std::optional<Rejection> rejection;  // what they found, if anything
  int cases = 0;                       // that were run to their end
  int of = 0;
  std::string cut_short;  // why not all of them; empty if all were, or if nothing is checked

  bool whole() const { return cut_short.empty(); }
  // "all 6 cases", "2 of 6 cases: ...", "not checked: ...".
  std::string text() const;
};

// Runs a GPU's finalists on the emulator too, because it sees more: it runs them with all of its
// sanitizers and in other orders of events. It finds a race that goes well by chance, a barrier
// that one warp does not reach, a copy that nobody waits for. On a GPU such a kernel may give
// correct results for years.
class SanitizerCheck {
 public:
  // The budget of one kernel, as open_emulator counts it. Under its checks the emulator executes 4
  // to 6 million a second, so this is some 15 to 30 seconds. It is not given in seconds because the
  // result must not depend on the machine.
  static constexpr std::uint64_t kInstructions = 100'000'000;
  static constexpr double kMostBytes = 256.0 * (1 << 20);

  // `device` is the one that kernels run on. Nothing is checked if that is an emulator itself, if
  // no profile in search_spaces/devices is for it, or if there is no `open`; the last two are
  // logged. Cases that need more than kMostBytes are left out. The task and the pool must outlive
  // this and every answer.
  SanitizerCheck(const TuningTask& task, const device::Device& device, kernel::CompilePool& pool,
                 EmulatorOpener open, std::uint64_t seed,
                 std::uint64_t instructions = kInstructions);
  // Drops the checks that have not begun.
  ~SanitizerCheck() { over_ = true; }
  SanitizerCheck(const SanitizerCheck&) = delete;
  SanitizerCheck& operator=(const SanitizerCheck&) = delete;

  bool enabled() const { return profile_ && !cases_.empty(); }
  // Begins to run the suite `quick`, on a thread of its own; as many kernels at once as there are
  // cores. A kernel that the emulator cannot run (an instruction of a newer GPU, say), or whose
  // emulator process died, has not failed: it was not checked.
  std::future<SanitizerResult> start(const kernel::Template& from, const Config& config);

 private:
  SanitizerResult run(const kernel::Template& from, const Config& config);
  // Nothing where the emulator's process died.
  std::optional<SanitizerResult> try_to_run(const kernel::Template& from, const Config& config);

  const TuningTask& task_;
  kernel::CompilePool& pool_;
  EmulatorOpener open_;
  std::optional<device::DeviceProfile> profile_;
  gate::TruthCache truth_;
  std::vector<gate::GateCase> cases_;
  int left_out_ = 0;  // cases that are too large
  std::uint64_t instructions_;
  std::counting_semaphore<> cores_;
  std::atomic<bool> over_{false};
};

}  // namespace fa_tune::tuner
