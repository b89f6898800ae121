#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "engine/kernel/compile/compiler.hpp"
#include "engine/measure/process_series.hpp"
#include "engine/measure/sampler.hpp"
#include "engine/model/rejection.hpp"
#include "engine/tuner/task/kernel_under_test.hpp"

namespace fa_tune::tuner {

struct ComparisonOptions {
  int processes = measure::ProcessSeries::kProcesses;  // on a GPU: a race in each
  device::L2 l2 = device::L2::warm;
  std::uint64_t seed = 1;  // of inputs and of the races
};

// How B compares with A. On a device that predicts, it has the ratio of the two predictions,
// without an interval and without a race.
struct KernelComparison {
  Interval a_us;
  Interval b_us;
  std::string a_detail;  // how its samples were taken, as JSON; nothing of a prediction
  std::string b_detail;
  Interval ratio;  // B's time over A's
  int processes = 0;
  int blocks = 0;
  int void_blocks = 0;
};

// Gates both and times each alone, then races them. The error says that A (0) or B (1) failed. They
// must solve the same problem. Throws MachineError if the device is lost or too restless to tell
// anything.
std::expected<KernelComparison, RejectedContestant> compare_kernels(
    KernelUnderTest& a, KernelUnderTest& b, device::Device& device, kernel::Compiler& compiler,
    kernel::CompilePool& pool, const ComparisonOptions& options);

}  // namespace fa_tune::tuner
