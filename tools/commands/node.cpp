#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/core.h>

#include "engine/node/agent.hpp"
#include "engine/tuner/offload/trial_host.hpp"
#include "engine/util/error.hpp"
#include "engine/util/log.hpp"
#include "engine/worker/open.hpp"
#include "tools/commands/command.hpp"

namespace fa_tune::commands {
namespace {

constexpr const char* kNone = "none";

struct NodeCommand {
  std::string connect;
  std::string key;
  std::string device = "cuda:all";
  std::optional<int> jobs;
  std::string name;
  double wait_s = 60;
};

std::vector<std::string> devices_of(const NodeCommand& arguments) {
  if (arguments.device == kNone) return {};
  const auto names = worker::device_names(arguments.device, [] {
    std::vector<std::string> ids;
    for (const device::DeviceInfo& gpu : worker::list_gpus_in_worker()) ids.push_back(gpu.id);
    if (ids.empty())
      throw MachineError(
          "--device cuda:all: there is no usable GPU; fa-tune doctor says why, and --device none "
          "lends compilers alone");
    return ids;
  });
  if (names.front() == "auto")
    throw UserError("--device auto: a node names its devices, as in cuda:all or emulator:l4");
  return names;
}

// Its compilers, into `options`. A node that has devices does without.
void add_compilers(const NodeCommand& arguments, node::AgentOptions& options) {
  // A device wants a core, to be asked and answered in time.
  options.jobs = arguments.jobs.value_or(
      std::max(0, default_jobs() - static_cast<int>(options.devices.size())));
  if (options.jobs == 0) {
    if (options.devices.empty())
      throw UserError("--device none --jobs 0: such a node would lend nothing");
    return;
  }
  try {
    options.compiler = worker::open_nvrtc_in_worker();
  } catch (const MachineError& error) {
    if (options.devices.empty()) throw;
    log_warning("this node does not compile: {}", error.what());
  }
}

int run_node(const NodeCommand& arguments) {
  const auto root = require_root();
  node::AgentOptions options;
  options.engine = node::parse_address(arguments.connect, "--connect");
  options.key = node::read_key(arguments.key);
  options.name = arguments.name.empty() ? node::name_of_this_machine() : arguments.name;
  options.wait = std::chrono::milliseconds(std::lround(arguments.wait_s * 1000));
  options.devices = devices_of(arguments);
  add_compilers(arguments, options);
  // One more runs reference kernels.
  options.open = [&root, count = options.devices.size() + 1](const std::string& device) {
    return worker::open_device_in_worker(device, {}, root, count);
  };
  tuner::TrialHost host(options.open);
  options.serve = [&host](device::Device& device, const std::string& name) {
    return host.serve(device, name);
  };
  log_info("node {} serves the engine at {}{}", options.name, to_text(options.engine),
           options.compiler == nullptr ? ""
                                       : fmt::format(", compiles {} at a time, {}", options.jobs,
                                                     options.compiler->version()));
  log_info("{}", node::serve_engine(options));
  return 0;
}

}  // namespace

void add_node(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "node",
      "lend this machine's devices and compilers to a search elsewhere (evolve --listen): kernels "
      "run and are compiled here in worker processes, and nothing is kept here");
  auto arguments = std::make_shared<NodeCommand>();
  command->add_option("--connect", arguments->connect, "where the search listens")
      ->type_name("HOST:PORT")
      ->required();
  command
      ->add_option("--key", arguments->key, "a copy of the search's key, for you alone (mode 600)")
      ->type_name("FILE")
      ->required();
  command
      ->add_option(
          "--device", arguments->device,
          "what to lend: cuda:all, cuda:0,cuda:1, or emulator:PROFILE, emulator:l4*2; none "
          "for a machine that only compiles")
      ->type_name("DEVICE")
      ->capture_default_str();
  command
      ->add_option("--jobs", arguments->jobs,
                   "compilers to lend; if not given, one for each core that no device needs; 0 for "
                   "none")
      ->check(CLI::Range(0, 1024));
  command->add_option("--name", arguments->name,
                      "what trials call this node; the machine's name if not given");
  command
      ->add_option("--wait", arguments->wait_s,
                   "seconds to try again where the search cannot be reached, at first or later on")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e9));
  act(*command, action, arguments, run_node);
}

}  // namespace fa_tune::commands
