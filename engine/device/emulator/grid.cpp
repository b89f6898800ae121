#include "engine/device/emulator/grid.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

namespace fa_tune::emulator {
namespace {

// CTAs are handed out in order, so when one fails all before it have been handed out too: the
// lowest failing one is certain to be found, whatever the threads' speed.
class GridRun {
 public:
  GridRun(const LaunchContext& context, const std::vector<std::uint64_t>& blocks, bool counting)
      : context_(context),
        blocks_(blocks),
        counting_(counting),
        total_(blocks.empty() ? context.config.grid.count() : blocks.size()) {}

  void work() {
    Cta cta(context_);
    Counters counters;
    for (;;) {
      const std::uint64_t i = next_.fetch_add(1);
      if (i >= total_ || i > first_failed_.load()) break;
      const std::uint64_t block = blocks_.empty() ? i : blocks_[i];
      if (auto trouble = cta.run(block, counting_ ? &counters : nullptr)) {
        const std::scoped_lock lock(mutex_);
        if (i < first_failed_.load()) {
          first_failed_ = i;
          trouble_ = std::move(trouble);
        }
      }
    }
    const std::scoped_lock lock(mutex_);
    counters_ += counters;
  }

  std::uint64_t total() const { return total_; }
  std::optional<Trouble> trouble() { return std::move(trouble_); }
  const Counters& counters() const { return counters_; }

 private:
  const LaunchContext& context_;
  const std::vector<std::uint64_t>& blocks_;
  bool counting_;
  std::uint64_t total_;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> first_failed_{~std::uint64_t{0}};
  std::mutex mutex_;
  std::optional<Trouble> trouble_;
  Counters counters_;
};

}  // namespace

std::optional<Trouble> run_grid(const LaunchContext& context, int threads,
                                const std::vector<std::uint64_t>& blocks, Counters* counters) {
  GridRun run(context, blocks, counters != nullptr);
  std::uint64_t workers = static_cast<std::uint64_t>(std::max(threads, 1));
  if (context.program->order_dependent) workers = 1;
  workers = std::min(workers, run.total());
  std::vector<std::jthread> helpers;
  for (std::uint64_t i = 1; i < workers; ++i) helpers.emplace_back([&run] { run.work(); });
  run.work();
  helpers.clear();
  if (counters != nullptr) *counters += run.counters();
  return run.trouble();
}

std::vector<std::uint64_t> sample_blocks(std::uint64_t total, std::uint64_t most) {
  std::vector<std::uint64_t> blocks;
  const std::uint64_t count = std::min(total, most);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t block =
        count == total
            ? i
            : static_cast<std::uint64_t>(static_cast<double>(total - 1) * static_cast<double>(i) /
                                         static_cast<double>(count - 1));
    blocks.push_back(block);
  }
  return blocks;
}

}  // namespace fa_tune::emulator
