#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "engine/kernel/compile/compiler_group.hpp"
#include "engine/node/hub.hpp"
#include "engine/problem/problem.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/node_starter.hpp"
#include "tools/commands/session.hpp"

namespace fa_tune::commands {

// What a search with devices of other machines is told of them.
struct NodeArguments {
  std::string listen;
  std::string key;
  std::string start;  // the command of --nodes
  double grace_s = 300;

  bool listens() const { return !listen.empty(); }
  // As they were typed, with a space before each.
  std::string words() const;
};
void add_node_options(CLI::App& command, NodeArguments& arguments);

// Who compiles in a search with nodes.
struct CompilerChoice {
  int jobs = 0;                        // compilers of this machine; 0 for none
  std::optional<std::string> version;  // that a resumed run has
  const std::atomic<bool>* stop = nullptr;
};

// The nodes of a search. To be made before the session and all that uses their devices.
class Nodes {
 public:
  // Throws MachineError where this machine is to compile and cannot.
  Nodes(const NodeArguments& arguments, const CompilerChoice& choice);

  // Waits for it. Throws MachineError where the command that starts nodes fails before one came.
  device::Device& first();
  // This machine's compilers and theirs, behind the cache on disk.
  std::unique_ptr<kernel::Compiler> compiler() const { return with_kernel_cache(compilers_); }
  kernel::CompilerGroup& compilers() { return *compilers_; }
  // Gives their devices to the session, and where that has none of its own the reference kernel to
  // one of theirs. Waits for the first device and for the first compiler, if there is no other.
  // Returns where more devices come from.
  device::DeviceSupply& join(Session& session, problem::Problem& problem,
                             const std::atomic<bool>* stop);

 private:
  const std::atomic<bool>& failed() const;
  void wait_for_compiler();

  std::unique_ptr<NodeStarter> starter_;  // first: its nodes end when the hub has told them
  std::shared_ptr<kernel::CompilerGroup> compilers_;
  node::NodeHub hub_;
};

// None if no nodes are asked for. Throws UserError for what does not go together, and what Nodes
// throws.
std::unique_ptr<Nodes> open_nodes(const NodeArguments& arguments, const CompilerChoice& choice);

}  // namespace fa_tune::commands
