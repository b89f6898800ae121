#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/emulator/exec/warp_executor.hpp"
#include "engine/device/emulator/state/cluster.hpp"

namespace fa_tune::emulator {

// Runs a cluster: all its warps take turns, in the order that the launch's interleaving draws. Used
// for one cluster of the grid after the other; those that wait for each other each have one.
class ClusterRun {
 public:
  explicit ClusterRun(const LaunchContext& context);
  ~ClusterRun();
  ClusterRun(const ClusterRun&) = delete;
  ClusterRun& operator=(const ClusterRun&) = delete;

  // Begins cluster number `index` of the grid (x fastest).
  void begin(std::uint64_t index, Record* record);
  enum class Pause : std::uint8_t {
    ended,        // its threads have exited, or something went wrong
    waiting,      // nothing is left for it but to wait for another cluster
    interrupted,  // it has spent the effort that it may
  };
  // Lets it go on, with an effort (Cta::effort) of about `most`. It may be put aside in between,
  // and others run.
  Pause go_on(std::uint64_t most);
  // Whether the last go_on did anything but wait; its effort.
  bool progressed() const { return progressed_; }
  std::uint64_t effort() const { return effort_; }
  // After it has ended, or instead: what went wrong, if anything did.
  std::optional<Diagnostic> end();
  // It waits for other clusters, which will not come: says so in its report (stuck_report.cpp).
  void report_waiting(const std::string& why);
  // After the last one: what can be said only now.
  std::optional<Diagnostic> finish();

 private:
  Pause take_turns(std::uint64_t most);
  std::uint64_t total_effort() const;
  void report_stuck();

  std::unique_ptr<Sanitizer> sanitizer_;  // if the launch is checked
  Cluster cluster_;
  std::vector<WarpExecutor> executors_;  // by rank of the CTA
  std::vector<Warp*> order_;
  bool progressed_ = false;
  std::uint64_t effort_ = 0;  // of the last go_on
};

}  // namespace fa_tune::emulator
