#include "tools/commands/slurm_allocation.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/core.h>

#include "engine/util/child_process.hpp"
#include "engine/util/environment.hpp"
#include "engine/util/error.hpp"
#include "engine/util/printable.hpp"

namespace fa_tune::commands {
namespace {

using namespace std::chrono_literals;

// A controller that is restarting keeps its clients waiting.
constexpr auto kAnswer = 30s;

// The lines that a program of Slurm's prints; `complaint` is the last that it complains of.
std::vector<std::string> ask(const std::vector<std::string>& words, std::string& complaint) {
  ChildProcess program(words, [&](std::string_view line) { complaint = line; });
  const auto until = ChildProcess::Clock::now() + kAnswer;
  std::vector<std::string> lines;
  for (std::string line; program.receive(line, until, nullptr) == ChildProcess::Heard::line;)
    if (!line.empty()) lines.push_back(line);
  program.end(until);
  return lines;
}

// None where Slurm does not tell.
std::vector<std::string> nodes_of(const std::string& job, std::string& complaint) {
  const auto list = ask({"squeue", "--noheader", "--jobs=" + job, "--format=%N"}, complaint);
  if (list.empty()) return {};
  return ask({"scontrol", "show", "hostnames", list.front()}, complaint);
}

}  // namespace

SlurmAllocation::SlurmAllocation() : job_(environment("SLURM_JOB_ID")) {
  if (job_.empty())
    throw UserError(fmt::format(
        "--nodes slurm: this is not within a Slurm allocation (no SLURM_JOB_ID): get one, as in "
        "'salloc --no-kill --nodes=2 --gpus-per-node=1', and start this there, or in a script for "
        "sbatch"));
  for (const char* const program : {"srun", "squeue", "scontrol"}) require_program(program);
  std::string complaint = "it names none";
  nodes_ = nodes_of(job_, complaint);
  if (nodes_.empty())
    throw MachineError(fmt::format("--nodes slurm: Slurm does not tell the nodes of job {}: {}",
                                   job_, printable(complaint, kLongestQuote)));
}

bool SlurmAllocation::has(const std::string& node) const {
  std::string complaint;
  const auto now = nodes_of(job_, complaint);
  return now.empty() || std::ranges::find(now, node) != now.end();
}

}  // namespace fa_tune::commands
