#pragma once

#include <atomic>
#include <cstdint>

#include "engine/device/local/open.hpp"
#include "engine/tuner/evolve.hpp"
#include "tests/engine/tuner/fixture.hpp"
#include "tests/engine/tuner/listeners.hpp"

namespace fa_tune::test {

// A run of one trial on the emulated L4, without finals, in a store of its own.
struct OneTrial {
  explicit OneTrial(const tuner::TuningTask& task) {
    const auto device = device::open_device("emulator:l4", task.target, root());
    tuner::EvolveOptions options;
    options.trials = 1;
    options.finals = false;
    QuietListener quiet;
    const std::atomic<bool> stop{false};
    run = tuner::evolve(task, *device, cached_nvrtc(), store, options, quiet, stop).run;
  }

  ScratchFolder folder;
  db::Store store{folder / "fa.db", db::Store::Mode::write};
  std::int64_t run = 0;
};

}  // namespace fa_tune::test
