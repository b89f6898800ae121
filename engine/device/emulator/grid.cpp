#include "engine/device/emulator/grid.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "engine/device/emulator/cluster.hpp"

namespace fa_tune::emulator {
namespace {

// Clusters are handed out in order, so when one fails all before it have been handed out too: the
// lowest failing one is certain to be found, whatever the threads' speed.
class GridRun {
 public:
  GridRun(const LaunchContext& context, const std::vector<std::uint64_t>& clusters, bool counting)
      : context_(context),
        clusters_(clusters),
        counting_(counting),
        total_(clusters.empty() ? cluster_count(context.config) : clusters.size()) {}

  void work() {
    Cluster cluster(context_);
    Record record(*context_.program);
    for (;;) {
      const std::uint64_t i = next_.fetch_add(1);
      if (i >= total_ || i > first_failed_.load()) break;
      if (std::chrono::steady_clock::now() >= context_.until) {
        note(i, Trouble{TroubleKind::timeout,
                        context_.program->kernel +
                            ": the time for it was up before all its blocks had run"});
        break;
      }
      const std::uint64_t index = clusters_.empty() ? i : clusters_[i];
      note(i, cluster.run(index, counting_ ? &record : nullptr));
    }
    note(total_, cluster.finish());
    const std::scoped_lock lock(mutex_);
    if (counting_) record_.join(std::move(record));
  }

  std::uint64_t total() const { return total_; }
  std::optional<Trouble> trouble() { return std::move(trouble_); }
  Record& record() { return record_; }

 private:
  void note(std::uint64_t i, std::optional<Trouble> trouble) {
    if (!trouble) return;
    const std::scoped_lock lock(mutex_);
    if (i >= first_failed_.load()) return;
    first_failed_ = i;
    trouble_ = std::move(trouble);
  }

  const LaunchContext& context_;
  const std::vector<std::uint64_t>& clusters_;
  bool counting_;
  std::uint64_t total_;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> first_failed_{~std::uint64_t{0}};
  std::mutex mutex_;
  std::optional<Trouble> trouble_;
  Record record_;
};

}  // namespace

std::optional<Trouble> run_grid(const LaunchContext& context, int threads,
                                const std::vector<std::uint64_t>& clusters, Record* record) {
  GridRun run(context, clusters, record != nullptr);
  std::uint64_t workers = static_cast<std::uint64_t>(std::max(threads, 1));
  if (context.program->order_dependent) workers = 1;
  workers = std::min(workers, run.total());
  std::vector<std::jthread> helpers;
  for (std::uint64_t i = 1; i < workers; ++i) helpers.emplace_back([&run] { run.work(); });
  run.work();
  helpers.clear();
  if (record != nullptr) *record = std::move(run.record());
  return run.trouble();
}

std::vector<std::uint64_t> sample_evenly(std::uint64_t total, std::uint64_t most) {
  std::vector<std::uint64_t> sample;
  const std::uint64_t count = std::min(total, most);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t index =
        count == total
            ? i
            : static_cast<std::uint64_t>(static_cast<double>(total - 1) * static_cast<double>(i) /
                                         static_cast<double>(count - 1));
    sample.push_back(index);
  }
  return sample;
}

}  // namespace fa_tune::emulator
