#include "tools/lone/orders.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace fa_tune::lone {
namespace {

constexpr std::uint64_t kMostClusters = 1024;
constexpr int kMostRuns = 100;
constexpr std::size_t kMostNamed = 8;

// The place in the kernel: what stands before the first thread or block is named.
std::string place_of(const std::string& message) {
  return message.substr(0, message.find(", block "));
}

class Shrinker {
 public:
  Shrinker(device::Device& device, const KernelImage& image, LoneLaunch launch,
           const device::Fault& fault)
      : device_(device), image_(image), launch_(std::move(launch)), fault_(fault) {}

  std::vector<std::uint64_t> run(std::vector<std::uint64_t> clusters) {
    for (std::size_t part = (clusters.size() + 1) / 2; part > 0;) {
      const std::size_t before = clusters.size();
      for (std::size_t begin = 0; begin < clusters.size() && clusters.size() > 1;) {
        std::vector<std::uint64_t> fewer = clusters;
        const std::size_t end = std::min(begin + part, fewer.size());
        fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(begin),
                    fewer.begin() + static_cast<std::ptrdiff_t>(end));
        if (!fewer.empty() && comes_with(fewer)) {
          clusters = std::move(fewer);
        } else {
          begin = end;
        }
      }
      // As small as it can be once no single one can go.
      if (part > 1 || clusters.size() == before) part /= 2;
    }
    return clusters;
  }

 private:
  bool comes_with(const std::vector<std::uint64_t>& clusters) {
    if (++runs_ > kMostRuns) return false;
    launch_.only_clusters = clusters;
    auto run = LoneRun::prepare(device_, image_, launch_);
    if (!run) return false;
    const auto done = run->run();
    return !done && done.error().kind == fault_.kind &&
           place_of(done.error().message) == place_of(fault_.message);
  }

  device::Device& device_;
  const KernelImage& image_;
  LoneLaunch launch_;
  const device::Fault& fault_;
  int runs_ = 0;
};

}  // namespace

std::vector<std::uint64_t> fewest_clusters(device::Device& device, const KernelImage& image,
                                           const LoneLaunch& launch, const device::Fault& fault) {
  std::vector<std::uint64_t> clusters = launch.only_clusters;
  if (clusters.empty()) {
    const std::uint64_t count = launch.config.grid.count() / launch.config.cluster.count();
    if (count > kMostClusters) return {};
    clusters.resize(count);
    std::iota(clusters.begin(), clusters.end(), 0);
  }
  const std::size_t all = clusters.size();
  clusters = Shrinker(device, image, launch, fault).run(std::move(clusters));
  return clusters.size() == all ? std::vector<std::uint64_t>() : clusters;
}

std::string how_to_run_again(const LoneLaunch& launch, const std::vector<std::uint64_t>& only) {
  std::string text = fmt::format("; in schedule {}", launch.schedule);
  std::string options = fmt::format("--schedule {}", launch.schedule);
  if (!only.empty()) {
    text += fmt::format(", with {} of its {} blocks alone",
                        only.size() * launch.config.cluster.count(), launch.config.grid.count());
    if (only.size() <= kMostNamed) options += fmt::format(" --only {}", fmt::join(only, ","));
  }
  return text + ": " + options;
}

}  // namespace fa_tune::lone
