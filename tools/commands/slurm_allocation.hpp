#pragma once

#include <optional>
#include <string>
#include <vector>

namespace fa_tune::commands {

// The Slurm allocation that this process runs in, of a batch script or of salloc.
class SlurmAllocation {
 public:
  // Throws UserError where there is none, MachineError where Slurm does not tell its nodes.
  SlurmAllocation();

  const std::string& job() const { return job_; }
  // The names of its nodes as it began.
  const std::vector<std::string>& nodes() const { return nodes_; }
  // Whether the node is still in it: Slurm takes a node that it has lost out of an allocation, for
  // good. True where Slurm does not answer.
  bool has(const std::string& node) const;

 private:
  std::string job_;
  std::vector<std::string> nodes_;
};

}  // namespace fa_tune::commands
