#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/report/profile.hpp"

namespace fa_tune::profiler {

// Nsight Compute's command line program: `given` if it is not empty, else FA_TUNE_NCU, else `ncu`
// in PATH, CUDA_HOME/bin, /usr/local/cuda*/bin, /opt/nvidia/nsight-compute (the newest first).
// Throws MachineError that says where it was looked for.
std::string find_ncu(const std::string& given);

// "2025.3.1.0". Throws MachineError where the program is no Nsight Compute, or does not answer.
std::string ncu_version(const std::string& ncu);

struct NcuRun {
  std::string ncu;                   // the program, as find_ncu gives it
  std::vector<std::string> program;  // what launches the kernel, and nothing else on a GPU
  int skipped = 3;                   // its launches before the one that is profiled
  // For everything; then all of it is killed. Nsight Compute starts a launch again some ten times,
  // with its memory put back in between.
  std::chrono::seconds deadline{300};
  std::string keep = {};  // a file for all that it prints; empty for none
};

// Profiles one launch: caches as the launch before has left them, clocks as they are, each counter
// from that launch or from one of its repetitions. Metrics that this Nsight Compute does not know
// are asked for no more and are missing then. No shell is started, and no configuration file of
// Nsight Compute's is read. Sets LC_ALL to C for all programs that this one starts from then on.
//
// Throws MachineError, in one line with what to do, where the driver does not let this user read
// counters, nothing was profiled, something fails, hangs or prints what cannot be read.
report::Profile profile_with_ncu(const NcuRun& run);

// What Nsight Compute told of one kernel.
struct NcuReport {
  struct Metric {
    std::string name;
    std::string unit;  // "%", "ns", ...; may be empty
    double value = 0;
  };
  std::vector<Metric> metrics;  // those that it has a number for

  const Metric* find(std::string_view name) const;
  std::optional<double> value(std::string_view name) const;
};

// Reads what `ncu --csv --page raw` writes on standard output, other lines (==PROF== and the
// program's own) before and behind it included. Two forms are known: a column a metric, with a row
// of units under the heads, and a row a metric. Numbers may have commas between thousands;
// "n/a", nothing, and what is not finite stand for a metric that there is not.
//
// Throws MachineError, in one line, where there is no such table, more or less than one kernel in
// it, or what is no number.
NcuReport parse_ncu_csv(std::string_view output, std::span<const std::string> wanted);

// All metrics that are asked of Nsight Compute. No chip has all of them.
std::vector<std::string> ncu_metrics();

// Makes a profile of the answer: shares, occupancy, stalls, time, every metric among the counters,
// and the limit. Source, version, device and the like are left to the caller. Throws MachineError
// without a time, and if not one share of a peak is known.
report::Profile profile_of(const NcuReport& report);

}  // namespace fa_tune::profiler
