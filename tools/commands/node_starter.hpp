#pragma once

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "engine/util/process.hpp"

namespace fa_tune::commands {

// A command that starts the nodes of a search, srun say. What it says is told behind its name. It
// may last as long as its nodes, or only have them start later, as sbatch does.
class NodeStarter {
 public:
  // `command` as a shell would split it; what nodes need to know comes behind it. Throws UserError
  // where there is no such program.
  NodeStarter(const std::string& command, const std::vector<std::string>& arguments);
  // Waits a moment for its end; then it is killed, with all that it has started on this machine.
  ~NodeStarter();
  NodeStarter(const NodeStarter&) = delete;
  NodeStarter& operator=(const NodeStarter&) = delete;

  // Set once it has ended with another exit code than 0.
  const std::atomic<bool>& failed() const { return failed_; }

 private:
  void run(const std::stop_token& stop);
  void tell(std::string& text, bool all);

  std::string name_;
  Process process_;
  std::atomic<bool> ended_{false};
  std::atomic<bool> failed_{false};
  std::jthread thread_;
};

}  // namespace fa_tune::commands
