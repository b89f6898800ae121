#pragma once

#include <atomic>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "engine/node/hub.hpp"
#include "engine/problem/problem.hpp"
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

// The nodes of a search. To be made before the session and all that uses their devices.
class Nodes {
 public:
  explicit Nodes(const NodeArguments& arguments);

  // Waits for it. Throws MachineError where the command that starts nodes fails before one came.
  device::Device& first();
  // Gives their devices to the session, and where that has none of its own the reference kernel to
  // one of theirs. Waits for the first, if there is no other. Returns where more come from.
  device::DeviceSupply& join(Session& session, problem::Problem& problem,
                             const std::atomic<bool>* stop);

 private:
  std::unique_ptr<NodeStarter> starter_;  // first: its nodes end when the hub has told them
  node::NodeHub hub_;
};

// None if no nodes are asked for. Throws UserError for what does not go together.
std::unique_ptr<Nodes> open_nodes(const NodeArguments& arguments);

}  // namespace fa_tune::commands
