#include "tools/commands/nodes.hpp"

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "engine/gate/reference_run.hpp"
#include "engine/util/error.hpp"
#include "engine/util/log.hpp"
#include "engine/util/shell.hpp"

namespace fa_tune::commands {
namespace {

node::HubOptions hub_options(const NodeArguments& arguments) {
  node::HubOptions options;
  options.address = node::parse_address(arguments.listen, "--listen");
  options.key = node::read_or_make_key(arguments.key);
  options.grace = std::chrono::milliseconds(std::lround(arguments.grace_s * 1000));
  return options;
}

}  // namespace

std::string NodeArguments::words() const {
  if (!listens()) return {};
  return fmt::format(" --listen {} --key {}{}", shell_word(listen), shell_word(key),
                     start.empty() ? "" : " --nodes " + shell_word(start));
}

void add_node_options(CLI::App& command, NodeArguments& arguments) {
  command
      .add_option("--listen", arguments.listen,
                  "search with the devices of other machines, which come here by `fa-tune node`; "
                  "with those of this machine besides only if --device names them")
      ->type_name("HOST:PORT");
  command
      .add_option(
          "--key", arguments.key,
          "of --listen: the file with the key that nodes must have; made, for you alone, if "
          "it is not there")
      ->type_name("FILE");
  command
      .add_option(
          "--nodes", arguments.start,
          "of --listen: a command that starts the nodes, as in 'srun --overlap fa-tune node "
          "--device cuda:all'; --connect and --key are put behind it")
      ->type_name("COMMAND");
  command
      .add_option("--grace", arguments.grace_s,
                  "of --listen: seconds that a search without any device left waits for one")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e6));
}

Nodes::Nodes(const NodeArguments& arguments) : hub_(hub_options(arguments)) {
  log_info("listens for nodes: {} node --connect {} --key {}", program_name(),
           to_text(hub_.address()), shell_word(arguments.key));
  if (arguments.start.empty()) return;
  const std::string key = std::filesystem::absolute(arguments.key).string();
  starter_ = std::make_unique<NodeStarter>(
      arguments.start,
      std::vector<std::string>{"--connect", to_text(hub_.address()), "--key", key});
}

device::Device& Nodes::first() {
  const std::atomic<bool> never{false};
  device::Device* const device = hub_.wait_for_first(starter_ ? starter_->failed() : never);
  if (device == nullptr) throw MachineError("the command of --nodes failed before a node had come");
  return *device;
}

device::DeviceSupply& Nodes::join(Session& session, problem::Problem& problem,
                                  const std::atomic<bool>* stop) {
  const auto own = session.devices();
  if (!own.empty()) {
    hub_.require_kind(own.front()->info());
    session.add(hub_.take_arrived());
    return hub_;
  }
  first();
  session.add(hub_.take_arrived());
  problem.use_reference(gate::make_reference_runner(
      [this] { return hub_.open_reference(); },
      [&compiler = session.compiler()](const kernel::CompileRequest& request) {
        return compiler.compile(request);
      },
      stop));
  return hub_;
}

std::unique_ptr<Nodes> open_nodes(const NodeArguments& arguments) {
  if (arguments.listens() == arguments.key.empty())
    throw UserError("--listen HOST:PORT and --key FILE go together");
  if (!arguments.start.empty() && !arguments.listens())
    throw UserError("--nodes needs --listen HOST:PORT and --key FILE: an address that nodes reach");
  return arguments.listens() ? std::make_unique<Nodes>(arguments) : nullptr;
}

}  // namespace fa_tune::commands
