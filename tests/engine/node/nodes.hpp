#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "engine/node/hub.hpp"
#include "engine/node/link.hpp"
#include "tests/engine/node/pairs.hpp"
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

// Of a hub on a port of its own.
inline node::HubOptions hub_options() {
  node::HubOptions options;
  options.address = {"127.0.0.1", 0};
  options.key = key_of(1);
  options.grace = std::chrono::seconds(5);
  options.patience = short_patience();
  return options;
}

// Bytes that it is given come back.
inline bool works(device::Device& device) {
  std::array<std::byte, 64> bytes{};
  bytes.fill(std::byte{7});
  auto back = bytes;
  back.fill({});
  const device::BufferHandle buffer = device.allocate(bytes.size());
  const bool done = device.write(buffer, 0, bytes) && device.read(buffer, 0, back);
  device.release(buffer);
  return done && back == bytes;
}

}  // namespace fa_tune::test
