#pragma once

#include <memory>

#include "engine/node/link.hpp"
#include "tests/engine/worker/workers.hpp"

namespace fa_tune::test {

// Times that a test can wait for.
inline node::Patience short_patience() {
  using namespace std::chrono_literals;
  node::Patience patience;
  patience.beat = 50ms;
  patience.silence = 2000ms;
  return patience;
}

// The test's own worker, with an emulator of that profile.
inline std::unique_ptr<device::Device> open_emulator(const std::string& profile = "l4") {
  using namespace std::chrono_literals;
  worker::RemoteOptions options;
  options.words = bad_worker({"--device", profile});
  options.deadlines = worker::Deadlines::of_emulator();
  options.deadlines.launch = 1500ms;
  options.pauses = {0ms, 20ms};
  return worker::open_remote(options);
}

}  // namespace fa_tune::test
