#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "engine/device/emulator/ir/program.hpp"

namespace fa_tune::emulator {

// By what a kernel does with tensor cores and copy engines: the model's error is not the same for
// all of them.
enum class KernelKind : std::uint8_t {
  mma_sync,
  mma_sync_and_bulk,  // tiles come by bulk or tensor copies
  wgmma,
  no_tensor_cores,
  count,
};
inline constexpr std::size_t kKernelKinds = static_cast<std::size_t>(KernelKind::count);

// "mma.sync", "mma.sync with bulk copies", "wgmma", "no tensor cores".
const char* name_of(KernelKind kind);
KernelKind kind_of(const Program& program);

// Of log(measured / predicted), over kernels of one kind that a GPU has timed.
struct RecordedErrors {
  int kernels = 0;
  int shapes = 0;
  // The middle 90%: of a further kernel the error lies between with that probability.
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  // By how much the logarithms of two predictions at one shape differ before that of the faster
  // kernel was less in 90% of the pairs.
  double apart = std::numeric_limits<double>::infinity();
};

// The profile whose GPU timed them: "h100".
const char* recorded_profile();
// What tools/bench/emulator/clock/interval wrote into recorded_errors.inc, with this model.
const RecordedErrors& recorded_errors(KernelKind kind);

// The 5% and 95% quantiles of a further value of which `values` are a sample, as order statistics:
// of n values, sorted, the k-th is the k/(n+1) quantile. Below 19 values even the outermost are
// nearer than that; they are then moved away from the median. Boundless below 3 values.
struct Middle {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};
Middle middle_90(std::span<const double> values);

// RecordedErrors::apart from the errors at each shape: the 90% quantile of the difference between
// the errors of two kernels at one shape. Boundless below four pairs.
double apart_90(std::span<const std::vector<double>> errors_by_shape);

}  // namespace fa_tune::emulator
