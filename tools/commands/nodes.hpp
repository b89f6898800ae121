#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "engine/kernel/compile/compiler_group.hpp"
#include "engine/node/hub.hpp"
#include "engine/problem/problem.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/node_starter.hpp"
#include "tools/commands/session.hpp"
#include "tools/commands/slurm_nodes.hpp"

namespace fa_tune::commands {

// What a search with devices of other machines is told of them.
struct NodeArguments {
  std::string listen;
  std::string key;
  std::string start;        // of --nodes: a command, or slurm[:OPTIONS]
  std::string device;       // of --node-device
  std::optional<int> jobs;  // of --node-jobs
  double grace_s = 300;

  bool slurm() const { return start == "slurm" || start.starts_with("slurm:"); }
  bool listens() const { return !listen.empty() || slurm(); }
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
  // `db`: of the search. `allocation`: whose nodes are to be started, if any. Throws MachineError
  // where this machine is to compile and cannot.
  Nodes(const NodeArguments& arguments, const std::filesystem::path& db,
        const CompilerChoice& choice, std::optional<SlurmAllocation> allocation);
  ~Nodes();
  Nodes(const Nodes&) = delete;
  Nodes& operator=(const Nodes&) = delete;

  // Waits for it. Throws MachineError where the command that starts nodes fails before one came,
  // Interrupted once `stop` is set.
  device::Device& first(const std::atomic<bool>& stop);
  // This machine's compilers and theirs, behind the cache on disk.
  std::unique_ptr<kernel::Compiler> compiler() const { return with_kernel_cache(compilers_); }
  kernel::CompilerGroup& compilers() { return *compilers_; }
  // Gives their devices to the session, and where that has none of its own the reference kernel to
  // one of theirs. Waits for the first device and for the first compiler, if there is no other, and
  // with GPUs until no more have come for a moment: how many trials are under way depends on them.
  // Returns where more devices come from.
  device::DeviceSupply& join(Session& session, problem::Problem& problem,
                             const std::atomic<bool>& stop);

 private:
  // The key's file. One that no option names lies beside the database until the search ends.
  class KeyFile {
   public:
    KeyFile(const NodeArguments& arguments, const std::filesystem::path& db);
    ~KeyFile();
    KeyFile(const KeyFile&) = delete;
    KeyFile& operator=(const KeyFile&) = delete;

    const std::filesystem::path& path() const { return path_; }
    const node::Key& key() const { return key_; }
    // Whether a search that was killed has left it.
    bool is_left() const { return is_left_; }

   private:
    std::filesystem::path path_;
    bool is_own_;
    bool is_left_;
    node::Key key_;
  };

  std::unique_ptr<node::NodeHub> listen(const NodeArguments& arguments,
                                        const std::filesystem::path& db) const;
  void start_by_slurm(const NodeArguments& arguments, SlurmAllocation allocation);
  // The command of a node.
  std::vector<std::string> command(const NodeArguments& arguments) const;
  bool failed() const;
  void wait_for_compiler(const std::atomic<bool>& stop);
  void wait_for_others(const std::atomic<bool>& stop);

  KeyFile key_;
  // Before the hub: nodes end when it has told them.
  std::unique_ptr<NodeStarter> starter_;
  std::unique_ptr<SlurmNodes> slurm_;
  std::shared_ptr<kernel::CompilerGroup> compilers_;
  std::unique_ptr<node::NodeHub> hub_;
};

// None if no nodes are asked for. Throws UserError for what does not go together, and what Nodes
// throws.
std::unique_ptr<Nodes> open_nodes(const NodeArguments& arguments, const std::filesystem::path& db,
                                  const CompilerChoice& choice);

}  // namespace fa_tune::commands
