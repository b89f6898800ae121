#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <optional>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/gate/gate.hpp"
#include "engine/kernel/compiler.hpp"
#include "engine/run/clocked.hpp"
#include "engine/run/project.hpp"

namespace fa_tune {

// A kernel that a GPU is to vouch for, looked at once more where more is seen: on the emulator,
// with all its checks and in other orders of events. A race that goes well by chance, a barrier
// that one warp does not reach, a copy that nobody waits for: a GPU may run such a kernel right for
// years.
class Watch {
 public:
  using Answer = std::future<std::optional<ClockRefusal>>;

  // For one kernel: many look at theirs at the same time.
  static constexpr std::chrono::seconds kLongest{20};
  static constexpr double kMostBytes = 256.0 * (1 << 20);

  // `device`: the one that kernels run on. Nothing is watched where that is an emulator itself, or
  // no profile in search_spaces/devices has its architecture, which is logged. A problem may have
  // no size that the emulator can run in `longest`: then what is seen until then counts, one that
  // needs more than kMostBytes is not begun, and both are logged once. The project and the pool
  // must outlive this and every answer.
  Watch(const Project& project, const Device& device, CompilePool& pool, std::uint64_t seed,
        std::chrono::milliseconds longest = kLongest);

  bool watches() const { return profile_ && !cases_.empty(); }
  // Begins, on a thread of its own, to run the suite `quick`. The answer is what is against the
  // kernel, if anything is.
  Answer look(const Template& from, const Config& config);

 private:
  std::optional<ClockRefusal> see(const Template& from, const Config& config);
  void say_cut_short();

  const Project& project_;
  CompilePool& pool_;
  std::optional<DeviceProfile> profile_;
  TruthCache truth_;
  std::vector<GateCase> cases_;
  std::chrono::milliseconds longest_;
  std::atomic<bool> said_{false};
};

}  // namespace fa_tune
