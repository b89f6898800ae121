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
#include "engine/worker/open.hpp"

namespace fa_tune::commands {
namespace {

std::chrono::milliseconds grace_of(const NodeArguments& arguments) {
  return std::chrono::milliseconds(std::lround(arguments.grace_s * 1000));
}

// With this machine's compilers in it before any of a node's can come.
std::shared_ptr<kernel::CompilerGroup> open_compilers(const NodeArguments& arguments,
                                                      const CompilerChoice& choice) {
  auto group = std::make_shared<kernel::CompilerGroup>(
      kernel::CompilerGroup::Options{grace_of(arguments), "a node that compiles", choice.stop});
  if (choice.version) group->require_version(*choice.version);
  if (choice.jobs == 0) return group;
  try {
    if (const auto added = group->add(worker::open_nvrtc_in_worker(), choice.jobs); !added)
      throw UserError(fmt::format("this machine cannot compile for that run: {}", added.error()));
  } catch (const MachineError& error) {
    throw MachineError(fmt::format("{}; --jobs 0 has nodes alone compile", error.what()));
  }
  return group;
}

node::HubOptions hub_options(const NodeArguments& arguments,
                             const std::shared_ptr<kernel::CompilerGroup>& compilers) {
  node::HubOptions options;
  options.address = node::parse_address(arguments.listen, "--listen");
  options.key = node::read_or_make_key(arguments.key);
  options.grace = grace_of(arguments);
  options.compilers = compilers;
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
      .add_option(
          "--listen", arguments.listen,
          "search with the devices and compilers of other machines, which come here by "
          "`fa-tune node`; with devices of this machine besides only if --device names them")
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
      .add_option(
          "--grace", arguments.grace_s,
          "of --listen: seconds that a search without any device or compiler left waits for "
          "one")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e6));
}

Nodes::Nodes(const NodeArguments& arguments, const CompilerChoice& choice)
    : compilers_(open_compilers(arguments, choice)), hub_(hub_options(arguments, compilers_)) {
  log_info("listens for nodes: {} node --connect {} --key {}", program_name(),
           to_text(hub_.address()), shell_word(arguments.key));
  if (arguments.start.empty()) return;
  const std::string key = std::filesystem::absolute(arguments.key).string();
  starter_ = std::make_unique<NodeStarter>(
      arguments.start,
      std::vector<std::string>{"--connect", to_text(hub_.address()), "--key", key});
}

const std::atomic<bool>& Nodes::failed() const {
  static const std::atomic<bool> never{false};
  return starter_ ? starter_->failed() : never;
}

device::Device& Nodes::first() {
  device::Device* const device = hub_.wait_for_first(failed());
  if (device == nullptr) throw MachineError("the command of --nodes failed before a node had come");
  return *device;
}

void Nodes::wait_for_compiler() {
  if (compilers_->size() > 0) return;
  log_info("nobody compiles yet (--jobs 0): waits for a node that does");
  if (!compilers_->wait_for_first(failed()))
    throw MachineError("the command of --nodes failed before a node that compiles had come");
}

device::DeviceSupply& Nodes::join(Session& session, problem::Problem& problem,
                                  const std::atomic<bool>* stop) {
  wait_for_compiler();
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

std::unique_ptr<Nodes> open_nodes(const NodeArguments& arguments, const CompilerChoice& choice) {
  if (arguments.listens() == arguments.key.empty())
    throw UserError("--listen HOST:PORT and --key FILE go together");
  if (!arguments.start.empty() && !arguments.listens())
    throw UserError("--nodes needs --listen HOST:PORT and --key FILE: an address that nodes reach");
  if (choice.jobs == 0 && !arguments.listens())
    throw UserError("--jobs 0 needs --listen HOST:PORT: nodes compile then, and nobody else does");
  return arguments.listens() ? std::make_unique<Nodes>(arguments, choice) : nullptr;
}

}  // namespace fa_tune::commands
