#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/device/offload_service.hpp"
#include "engine/kernel/compile/compiler.hpp"
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
  // What does offloaded work with those.
  device::OffloadServiceMaker serve;
  // Compiles in processes of its own, `jobs` sources at a time; nothing if this node lends none.
  std::shared_ptr<kernel::Compiler> compiler = nullptr;
  int jobs = 0;
  // How long an engine that cannot be reached is tried again, before the first time and after it is
  // lost: it may be about to be started, or to be resumed.
  std::chrono::milliseconds wait{60'000};
  Patience patience = {};
};

// Serves an engine with all that this node lends, until the engine has no more to ask. Returns why.
// A node that has devices ends where the engine refuses them all, whatever its compilers are worth.
// Throws UserError for that, for compilers alone that are refused, and for another key; MachineError
// if the engine cannot be reached, or compilers alone have failed.
std::string serve_engine(const AgentOptions& options);

}  // namespace fa_tune::node
