#include <cmath>

#include <fmt/core.h>

#include "engine/node/agent.hpp"
#include "engine/util/error.hpp"
#include "engine/util/log.hpp"
#include "engine/worker/open.hpp"
#include "tools/commands/command.hpp"

namespace fa_tune::commands {
namespace {

struct NodeCommand {
  std::string connect;
  std::string key;
  std::string device = "cuda:all";
  std::string name;
  double wait_s = 60;
};

int run_node(const NodeCommand& arguments) {
  const auto root = require_root();
  node::AgentOptions options;
  options.engine = node::parse_address(arguments.connect, "--connect");
  options.key = node::read_key(arguments.key);
  options.name = arguments.name.empty() ? node::name_of_this_machine() : arguments.name;
  options.wait = std::chrono::milliseconds(std::lround(arguments.wait_s * 1000));
  options.devices = worker::device_names(arguments.device, [] {
    std::vector<std::string> ids;
    for (const device::DeviceInfo& gpu : worker::list_gpus_in_worker()) ids.push_back(gpu.id);
    return ids;
  });
  if (options.devices.front() == "auto")
    throw UserError("--device auto: a node names its devices, as in cuda:all or emulator:l4");
  // One more runs reference kernels.
  options.open = [&root, count = options.devices.size() + 1](const std::string& device) {
    return worker::open_device_in_worker(device, {}, root, count);
  };
  log_info("node {} serves the engine at {}", options.name, to_text(options.engine));
  log_info("{}", node::serve_engine(options));
  return 0;
}

}  // namespace

void add_node(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "node",
      "lend this machine's devices to a search elsewhere (evolve --listen): kernels run here in "
      "worker processes, and nothing is compiled or kept here");
  auto arguments = std::make_shared<NodeCommand>();
  command->add_option("--connect", arguments->connect, "where the search listens")
      ->type_name("HOST:PORT")
      ->required();
  command
      ->add_option("--key", arguments->key, "a copy of the search's key, for you alone (mode 600)")
      ->type_name("FILE")
      ->required();
  command
      ->add_option("--device", arguments->device,
                   "what to lend: cuda:all, cuda:0,cuda:1, or emulator:PROFILE, emulator:l4*2")
      ->type_name("DEVICE")
      ->capture_default_str();
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
