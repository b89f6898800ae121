#include "engine/device/emulator/state/cluster.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "engine/device/emulator/sanitizer/sanitizer.hpp"

namespace fa_tune::emulator {
namespace {

// Turns of all warps without progress, before other clusters have theirs. Some, since who gives way
// may wait for a clock.
constexpr std::uint32_t most_idle_rounds = 64;

}  // namespace

std::uint64_t cluster_count(const LaunchConfig& config) {
  return config.grid.count() / config.cluster.count();
}

Cluster::~Cluster() = default;

Cluster::Cluster(const LaunchContext& context) : context_(context) {
  const auto size = static_cast<std::uint32_t>(context.config.cluster.count());
  if (context.checks.any()) sanitizer_ = std::make_unique<Sanitizer>(context, size);
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    ctas_.push_back(std::make_unique<Cta>(context, *this, rank, sanitizer_.get()));
  }
}

void Cluster::begin(std::uint64_t index, Record* record) {
  record_ = record;
  start_all(index, record);
}

Cluster::Pause Cluster::go_on(std::uint64_t most) {
  if (sanitizer_) sanitizer_->resume();
  progressed_ = false;
  const std::uint64_t before = total_effort();
  const Pause pause = take_turns(most);
  effort_ = total_effort() - before;
  if (sanitizer_ && pause != Pause::ended) sanitizer_->put_aside();
  return pause;
}

std::optional<Trouble> Cluster::end() {
  operations_.clear();
  if (record_ != nullptr) record_->end_blocks();
  auto trouble = std::exchange(trouble_, std::nullopt);
  return sanitizer_ ? sanitizer_->judge(std::move(trouble)) : trouble;
}

std::uint64_t Cluster::total_effort() const {
  std::uint64_t total = 0;
  for (const auto& cta : ctas_) total += cta->effort();
  return total;
}

std::optional<Trouble> Cluster::finish() {
  return sanitizer_ ? sanitizer_->finish() : std::nullopt;
}

void Cluster::start_all(std::uint64_t index, Record* record) {
  const Dim3& size = context_.config.cluster;
  const Dim3& grid = context_.config.grid;
  const std::uint64_t wide = grid.x / size.x;
  const std::uint64_t high = grid.y / size.y;
  const Dim3 first{static_cast<std::uint32_t>(index % wide) * size.x,
                   static_cast<std::uint32_t>(index / wide % high) * size.y,
                   static_cast<std::uint32_t>(index / wide / high) * size.z};
  schedule_ = Schedule(context_.schedule, index);
  phase_ = 0;
  if (sanitizer_) sanitizer_->start(index);
  operations_.clear();
  order_.clear();
  for (const auto& cta : ctas_) {
    const std::uint32_t rank = cta->rank();
    cta->start({first.x + rank % size.x, first.y + rank / size.x % size.y,
                first.z + rank / size.x / size.y},
               record);
    for (Warp& warp : cta->warps()) order_.push_back(&warp);
  }
}

Cluster::Pause Cluster::take_turns(std::uint64_t most) {
  std::uint64_t left = most;
  for (std::uint32_t idle_rounds = 0;;) {
    if (!schedule_.plain()) {
      for (std::size_t i = order_.size(); i > 1; --i) {
        std::swap(order_[i - 1], order_[schedule_.below(static_cast<std::uint32_t>(i))]);
      }
    }
    bool progress = false;
    bool gave_way = false;
    bool alive = false;
    for (std::size_t i = 0; i < order_.size(); ++i) {
      Warp* const warp = order_[i];
      if (choose_split(*warp) >= 0) {
        const std::uint64_t before = warp->cta->effort();
        const bool went_on = warp->cta->run_warp(*warp, std::min(schedule_.turn(), left));
        (went_on ? progress : gave_way) = true;
        if (in_trouble()) return Pause::ended;
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
      while (!in_trouble() && happen_next()) {
      }
      return Pause::ended;
    }
    progressed_ |= progress;
    idle_rounds = progress ? 0 : idle_rounds + 1;
    // As late as may be: only when no warp can go on without it.
    if (!progress && !happen_next()) {
      if (!gave_way) {
        report_stuck();
        return Pause::ended;
      }
      if (idle_rounds >= most_idle_rounds) return Pause::waiting;
    }
  }
}

bool Cluster::happen_next() {
  if (operations_.empty()) return false;
  const std::size_t chosen =
      schedule_.plain() ? 0 : schedule_.below(static_cast<std::uint32_t>(operations_.size()));
  const AsyncOperation operation = std::move(operations_[chosen]);
  operations_.erase(operations_.begin() + static_cast<std::ptrdiff_t>(chosen));
  operation.happen();
  wake();
  return true;
}

void Cluster::start(AsyncOperation operation) {
  if (schedule_.early()) {
    operation.happen();
    wake();
    return;
  }
  if (operation.take && schedule_.early()) operation.take();
  operations_.push_back(std::move(operation));
}

void Cluster::finish_groups(const Warp& warp, int lane, std::uint32_t end, Finish what) {
  for (std::size_t i = 0; i < operations_.size() && !in_trouble();) {
    const AsyncOperation& each = operations_[i];
    const bool covered = each.warp == &warp && each.lane == lane && each.group < end;
    if (covered && what == Finish::reads && each.take) each.take();
    if (!covered || what == Finish::reads) {
      ++i;
      continue;
    }
    const AsyncOperation operation = std::move(operations_[i]);
    operations_.erase(operations_.begin() + static_cast<std::ptrdiff_t>(i));
    operation.happen();
  }
  wake();
}

void Cluster::wake() {
  for (Warp* warp : order_) {
    for (Split& split : warp->splits) {
      if (split.state == Split::State::waiting) split.state = Split::State::ready;
    }
  }
}

void Cluster::arrive(Warp& warp, const Op& op, std::uint32_t mask) {
  if ((warp.in_cluster_phase & mask) != 0) {
    warp.cta->report(TroubleKind::barrier, warp, op, std::countr_zero(warp.in_cluster_phase & mask),
                     "the thread arrives at the cluster's barrier twice without a wait");
    return;
  }
  warp.in_cluster_phase |= mask;
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    warp.cluster_phase[static_cast<std::size_t>(std::countr_zero(rest))] = phase_ + 1;
  }
  if (sanitizer_) sanitizer_->arrive_cluster(warp);
  complete_phase();
}

bool Cluster::passed(const Warp& warp, int lane) const {
  return warp.cluster_phase[static_cast<std::size_t>(lane)] <= phase_;
}

void Cluster::complete_phase() {
  bool some = false;
  for (const Warp* warp : order_) {
    if ((warp->in_cluster_phase & warp->live) != warp->live) return;
    some |= warp->in_cluster_phase != 0;
  }
  if (!some) return;
  for (Warp* warp : order_) warp->in_cluster_phase = 0;
  ++phase_;
  if (sanitizer_) sanitizer_->complete_cluster();
  wake();
}

void Cluster::threads_left(Cta& cta) {
  cta.note_exits();
  complete_phase();
}

void Cluster::report_waiting(const std::string& why) {
  for (const auto& cta : ctas_) {
    if (!cta->alive()) continue;
    cta->report_waiting(why);
    if (in_trouble()) return;
  }
}

void Cluster::report_stuck() {
  for (const auto& cta : ctas_) {
    if (!cta->alive()) continue;
    cta->report_stuck();
    if (in_trouble()) return;
  }
}

}  // namespace fa_tune::emulator
