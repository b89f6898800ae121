#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tools/commands/node_starter.hpp"
#include "tools/commands/slurm_allocation.hpp"

namespace fa_tune::commands {

struct SlurmOptions {
  std::vector<std::string> srun;  // what else srun is told
  // The command of a node, by its name.
  std::function<std::vector<std::string>(const std::string& node)> command;
  // The names of the nodes that are at the search's service now.
  std::function<std::set<std::string>()> connected;
  // Nodes of a search that was killed may be about to come back by themselves.
  bool resumed = false;
};

// Keeps every node of an allocation at a search's service: starts its command there by srun, and
// again where the node is lost. Each has a step of its own, so that the loss of one is nothing to
// the others. One that says that it is of no use, or that has left the allocation, is given up.
class SlurmNodes {
 public:
  SlurmNodes(SlurmAllocation allocation, SlurmOptions options);
  // end() a moment from now.
  ~SlurmNodes();
  SlurmNodes(const SlurmNodes&) = delete;
  SlurmNodes& operator=(const SlurmNodes&) = delete;

  // From now on no node is started.
  void stop();
  // Ends all steps, those that have not ended by themselves until then.
  void end(NodeStarter::Clock::time_point until);
  // While there is no node, and starting each of them has been tried in vain.
  bool failed() const { return failed_; }

 private:
  using Clock = NodeStarter::Clock;
  enum class State { waiting, starting, here, given_up };
  struct Place {
    std::string node;
    State state = State::waiting;
    // When it is to be started, or is not waited for any more.
    Clock::time_point due;
    std::unique_ptr<NodeStarter> step;
    int failures = 0;  // in a row
    bool has_come = false;
  };

  void run(const std::stop_token& stop);
  void look_at(Place& place, bool connected);
  void start(Place& place);
  void wait_longer(Place& place);
  void give_up(Place& place, const std::string& why);
  static bool is_of_no_use(const Place& place);

  SlurmAllocation allocation_;
  SlurmOptions options_;
  std::vector<Place> places_;
  std::atomic<bool> failed_{false};
  std::jthread thread_;
};

}  // namespace fa_tune::commands
