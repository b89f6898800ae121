#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/node/address.hpp"
#include "engine/node/key.hpp"
#include "engine/node/link.hpp"

namespace fa_tune::node {

struct AgentOptions {
  Address engine;
  Key key{};
  std::string name;                  // of this node
  std::vector<std::string> devices;  // single ones: "cuda:0"
  // Opens one of them in a process of its own. Called by several threads.
  std::function<std::unique_ptr<device::Device>(const std::string& device)> open;
  // How long an engine that cannot be reached is tried again, before the first time and after it is
  // lost: it may be about to be started, or to be resumed.
  std::chrono::milliseconds wait{60'000};
  Patience patience = {};
};

// Serves an engine with all devices of this node, until the engine has no more to ask. Returns why.
// Throws UserError if the engine refuses all devices or has another key, MachineError if it cannot
// be reached.
std::string serve_engine(const AgentOptions& options);

}  // namespace fa_tune::node
