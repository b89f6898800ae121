#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "engine/device/emulator/state/cta.hpp"

namespace fa_tune::emulator {

// Runs all clusters of a launch (of one CTA each mostly) over `threads` hardware threads. Results
// do not depend on the number of threads unless the kernel has a race between CTAs; a kernel whose
// CTAs meet in order-dependent atomics runs on one thread. Clusters begin in order, in
// interleavings from 3 on in another one, which is drawn within stretches that the device holds at
// once. One that waits for another is put aside, as many as the device holds, and goes on after
// others have: so look-back and barriers of the whole grid run, where a device runs them. Of
// several clusters that failed the one with the lowest number is reported. What was counted is put
// into `record` if that is not null.
std::optional<Diagnostic> run_grid(const LaunchContext& context, int threads, Record* record);

// Which clusters of a launch are recorded, and whether the others run too.
struct Sampling {
  std::vector<std::uint64_t> clusters;  // ascending, the first of the grid among them
  // Of some of these, of one CTA each: another that an SM would hold at the same time. It runs as
  // well, and only what it reads is looked at (Record::compare_reads).
  std::map<std::uint64_t, std::uint64_t> neighbours = {};
  // All others run too, where the grid takes no more effort (Cta::effort) than this, going by its
  // first cluster; else only if one of the sample waits for one that is not.
  std::uint64_t whole_up_to = 0;
};
struct Sampled {
  std::optional<Diagnostic> diagnostic;
  bool whole = false;  // all clusters have run
};
// The same for what a time is predicted from.
Sampled run_sampled(const LaunchContext& context, int threads, const Sampling& sampling,
                    Record& record);

// What a sample of `total` takes: all if there are at most `most`, else that many spread evenly,
// first and last among them.
std::vector<std::uint64_t> sample_evenly(std::uint64_t total, std::uint64_t most);

// For every second cluster of a sample, of one CTA each, one that is likely to be on the same of
// `sms` SMs: each gets a CTA before one gets a second. On an H200, which has 132, those that an SM
// got first were mostly 124, 132 or 140 apart; when one ends it gets the first that is left.
std::map<std::uint64_t, std::uint64_t> neighbours_of(const std::vector<std::uint64_t>& sample,
                                                     std::uint64_t total, std::uint64_t sms);

}  // namespace fa_tune::emulator
