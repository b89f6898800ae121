#include "engine/device/emulator/exec/cluster_run.hpp"

#include <algorithm>
#include <utility>

#include "engine/device/emulator/sanitizer/sanitizer.hpp"

namespace fa_tune::emulator {
namespace {

// Turns of all warps without progress, before other clusters have theirs. Some, since a warp that
// yields may wait for a clock.
constexpr std::uint32_t kMostIdleRounds = 64;

// Null unless the launch is checked.
std::unique_ptr<Sanitizer> sanitizer_of(const LaunchContext& context) {
  if (!context.checks.any()) return nullptr;
  return std::make_unique<Sanitizer>(context,
                                     static_cast<std::uint32_t>(context.config.cluster.count()));
}

}  // namespace

ClusterRun::~ClusterRun() = default;

ClusterRun::ClusterRun(const LaunchContext& context)
    : sanitizer_(sanitizer_of(context)), cluster_(context, sanitizer_.get()) {
  executors_.reserve(cluster_.ctas().size());
  for (const auto& cta : cluster_.ctas()) executors_.emplace_back(*cta);
}

void ClusterRun::begin(std::uint64_t index, Record* record) {
  if (sanitizer_) sanitizer_->start(index);
  cluster_.begin(index, record);
  for (WarpExecutor& executor : executors_) executor.start();
  order_.assign(cluster_.warps().begin(), cluster_.warps().end());
}

ClusterRun::Pause ClusterRun::go_on(std::uint64_t most) {
  progressed_ = false;
  const std::uint64_t before = total_effort();
  const Pause pause = take_turns(most);
  effort_ = total_effort() - before;
  return pause;
}

std::optional<Diagnostic> ClusterRun::end() {
  auto diagnostic = cluster_.end();
  return sanitizer_ ? sanitizer_->finalize(std::move(diagnostic)) : diagnostic;
}

std::uint64_t ClusterRun::total_effort() const {
  std::uint64_t total = 0;
  for (const auto& cta : cluster_.ctas()) total += cta->effort();
  return total;
}

std::optional<Diagnostic> ClusterRun::finish() {
  return sanitizer_ ? sanitizer_->finish() : std::nullopt;
}

ClusterRun::Pause ClusterRun::take_turns(std::uint64_t most) {
  std::uint64_t left = most;
  Interleaving& interleaving = cluster_.interleaving();
  for (std::uint32_t idle_rounds = 0;;) {
    if (!interleaving.plain()) {
      for (std::size_t i = order_.size(); i > 1; --i) {
        std::swap(order_[i - 1], order_[interleaving.below(static_cast<std::uint32_t>(i))]);
      }
    }
    bool progress = false;
    bool yielded = false;
    bool alive = false;
    for (std::size_t i = 0; i < order_.size(); ++i) {
      Warp* const warp = order_[i];
      if (choose_path(*warp) >= 0) {
        const std::uint64_t before = warp->cta->effort();
        const bool went_on =
            executors_[warp->cta->rank()].run_warp(*warp, std::min(interleaving.turn(), left));
        (went_on ? progress : yielded) = true;
        if (cluster_.has_failed()) return Pause::ended;
        left -= std::min(left, warp->cta->effort() - before);
      }
      alive |= warp->live != 0;
      if (alive && left == 0) {
        // The next goes first then.
        std::rotate(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                    order_.end());
        progressed_ = true;
        return Pause::interrupted;
      }
    }
    if (!alive) {
      while (!cluster_.has_failed() && cluster_.complete_next()) {
      }
      return Pause::ended;
    }
    progressed_ |= progress;
    idle_rounds = progress ? 0 : idle_rounds + 1;
    // As late as may be: only when no warp can go on without it.
    if (!progress && !cluster_.complete_next()) {
      if (!yielded) {
        report_stuck();
        return Pause::ended;
      }
      if (idle_rounds >= kMostIdleRounds) return Pause::waiting;
    }
  }
}

}  // namespace fa_tune::emulator
