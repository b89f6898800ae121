#include "engine/device/emulator/prediction/recorded_errors.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace fa_tune::emulator {
namespace {

constexpr double kTail = 0.05;  // on each side
// Fewer values than this say nothing of where others lie.
constexpr std::size_t kFewest = 3;

constexpr const char* kProfile = "h100";
constexpr std::array<RecordedErrors, kKernelKinds> kRecorded = {{
#include "engine/device/emulator/prediction/recorded_errors.inc"
}};

// The p quantile of a further value, between order statistics; 1/(n+1) <= p <= n/(n+1).
double order_quantile(std::span<const double> sorted, double p) {
  const double place = p * static_cast<double>(sorted.size() + 1) - 1;
  const auto below = static_cast<std::size_t>(std::max(place, 0.0));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

}  // namespace

const char* name_of(KernelKind kind) {
  constexpr std::array<const char*, kKernelKinds> kNames = {"mma.sync", "mma.sync with bulk copies",
                                                            "wgmma", "no tensor cores"};
  return kind < KernelKind::count ? kNames[static_cast<std::size_t>(kind)] : "";
}

KernelKind kind_of(const Program& program) {
  bool bulk = false;
  bool tensor = false;
  for (const Op& op : program.ops) {
    const std::string& name = program.names[op.name];
    if (name.starts_with("wgmma")) return KernelKind::wgmma;
    bulk = bulk || name.starts_with("cp.async.bulk");
    tensor = tensor || op.pipe == Pipe::tensor;
  }
  if (!tensor) return KernelKind::no_tensor_cores;
  return bulk ? KernelKind::mma_sync_and_bulk : KernelKind::mma_sync;
}

const char* recorded_profile() { return kProfile; }

const RecordedErrors& recorded_errors(KernelKind kind) {
  return kRecorded[static_cast<std::size_t>(kind)];
}

Middle middle_90(std::span<const double> values) {
  if (values.size() < kFewest) return {};
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  const double outermost = 1 / static_cast<double>(sorted.size() + 1);
  if (outermost <= kTail) return {order_quantile(sorted, kTail), order_quantile(sorted, 1 - kTail)};
  // With tails that fall off exponentially (Laplace's: heavier than those of a normal distribution)
  // the p quantile lies log(1 / 2p) from the median, in some unit. So the distance of an outermost
  // value, the 1/(n+1) quantile, grows by log(1 / 2p) / log((n+1) / 2): by 1.11 for 15 values, by
  // 3.3 for 3.
  const double factor = std::log(1 / (2 * kTail)) / std::log(1 / (2 * outermost));
  const double median = order_quantile(sorted, 0.5);
  return {median + factor * (sorted.front() - median), median + factor * (sorted.back() - median)};
}

double apart_90(std::span<const std::vector<double>> errors_by_shape) {
  std::vector<double> differences;
  for (const std::vector<double>& errors : errors_by_shape) {
    for (std::size_t i = 0; i < errors.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) differences.push_back(std::abs(errors[i] - errors[j]));
    }
  }
  // Either of two may be the one predicted to be faster: 90% on one side of a difference are 80% of
  // its sizes.
  constexpr double kWithin = 0.8;
  constexpr std::size_t kFewestPairs = 4;  // of which the outermost is that quantile
  if (differences.size() < kFewestPairs) return std::numeric_limits<double>::infinity();
  std::ranges::sort(differences);
  return order_quantile(differences, kWithin);
}

}  // namespace fa_tune::emulator
