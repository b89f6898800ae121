#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/util/process.hpp"

namespace fa_tune::commands {

// A command that starts nodes of a search, srun say. What it says is told behind a name. It may last
// as long as its nodes, or only have them start later, as sbatch does.
class NodeStarter {
 public:
  using Clock = Process::Clock;

  // `words`: a program and its arguments. Throws UserError where there is no such program.
  NodeStarter(std::string name, const std::vector<std::string>& words);
  // end() a moment from now.
  ~NodeStarter();
  NodeStarter(const NodeStarter&) = delete;
  NodeStarter& operator=(const NodeStarter&) = delete;

  // Waits for its end until then. After that it is asked to end (SIGTERM), and soon killed, with
  // all that it has started on this machine.
  void end(Clock::time_point until);

  // Once it has ended and all that it said is told: its exit code, or 128 and the signal's number.
  std::optional<int> exit_code() const;

 private:
  void run(const std::stop_token& stop);
  void tell(std::string& text, bool all);
  bool ends_until(Clock::time_point until) const;

  std::string name_;
  Process process_;
  std::atomic<int> exit_code_{-1};
  std::atomic<bool> asked_to_end_{false};
  std::jthread thread_;
};

}  // namespace fa_tune::commands
