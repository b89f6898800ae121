#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "engine/measure/statistics.hpp"
#include "engine/util/error.hpp"
#include "tools/bench/emulator/microbench/microbench.hpp"

namespace fa_tune::bench {
namespace {

constexpr std::size_t kMostNotes = 4096;
constexpr std::uint64_t kAllData = std::uint64_t{1} << 29;

template <class T>
T checked(std::expected<T, device::Fault> outcome, const char* doing) {
  if (!outcome) throw MachineError(fmt::format("{}: {}", doing, outcome.error().message));
  if constexpr (!std::is_void_v<T>) return *outcome;
}

}  // namespace

Lab::Lab(device::Device& device, kernel::Compiler& compiler)
    : device_(device),
      compiler_(compiler),
      times_(device.allocate(kMostNotes * sizeof(std::uint64_t))),
      data_(device.allocate(kAllData)),
      data_bytes_(kAllData) {
  fill({0, 0x3c003c00, 0x3c003c00});
}

Lab::~Lab() {
  device_.release(times_);
  device_.release(data_);
}

void Lab::fill(const std::vector<std::uint32_t>& words) {
  checked(device_.write(data_, 0, std::as_bytes(std::span(words))), "filling");
}

device::Launch Lab::prepare(const std::string& source, const Shape& shape) {
  if (source != last_source_) {
    if (!last_source_.empty()) device_.unload(kernel_);
    const auto compiled = compiler_.compile({{source, "bench", ""},
                                             device_.info().arch + shape.arch_suffix,
                                             device_.info().accepts,
                                             {}});
    if (!compiled) throw MachineError(compiled.error().message + "\n" + source);
    kernel_ = checked(device_.load(compiled->image), "loading");
    last_source_ = source;
  }
  device::Launch launch;
  launch.kernel = kernel_;
  launch.config.grid.x = shape.blocks;
  launch.config.block.x = shape.threads;
  launch.config.cluster.x = shape.cluster;
  launch.config.dynamic_shared_bytes = shape.shared;
  std::vector<std::byte> count(sizeof(int));
  std::memcpy(count.data(), &shape.count, sizeof(int));
  launch.arguments = {times_, data_, count};
  return launch;
}

std::vector<std::uint64_t> Lab::noted(const std::string& source, const Shape& shape,
                                      std::size_t words) {
  const device::Launch launch = prepare(source, shape);
  for (int i = 0; i < 2; ++i) checked(device_.launch(launch), "launching");
  std::vector<std::uint64_t> times(words);
  checked(device_.read(times_, 0, std::as_writable_bytes(std::span(times))), "reading");
  return times;
}

double Lab::clocks(const std::string& source, const Shape& shape) {
  const std::size_t warps = shape.threads / 32;
  const std::vector<std::uint64_t> times = noted(source, shape, 4 * warps);
  std::uint64_t first = times[0];
  std::uint64_t last = times[1];
  for (std::size_t warp = 1; warp < warps; ++warp) {
    first = std::min(first, times[4 * warp]);
    last = std::max(last, times[4 * warp + 1]);
  }
  if (times[3] > times[2]) {
    clock_mhz_ =
        1e3 * static_cast<double>(times[1] - times[0]) / static_cast<double>(times[3] - times[2]);
  }
  return static_cast<double>(last - first);
}

double Lab::microseconds(const std::string& source, const Shape& shape,
                         const device::TimingPlan& plan) {
  const device::Launch launch = prepare(source, shape);
  const device::Timing timing = checked(device_.time(launch, plan), "timing");
  return measure::median(timing.samples_us);
}

}  // namespace fa_tune::bench
