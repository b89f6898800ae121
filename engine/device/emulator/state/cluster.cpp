#include "engine/device/emulator/state/cluster.hpp"

#include <bit>
#include <utility>

namespace fa_tune::emulator {

Cluster::Cluster(const LaunchContext& context, Sanitizer* sanitizer) : context_(context) {
  const auto size = static_cast<std::uint32_t>(context.config.cluster.count());
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    ctas_.push_back(std::make_unique<Cta>(context, *this, rank, sanitizer));
    for (Warp& warp : ctas_.back()->warps()) warps_.push_back(&warp);
  }
}

void Cluster::begin(std::uint64_t index, Record* record) {
  record_ = record;
  const Dim3& size = context_.config.cluster;
  const Dim3& grid = context_.config.grid;
  const std::uint64_t wide = grid.x / size.x;
  const std::uint64_t high = grid.y / size.y;
  const Dim3 first{static_cast<std::uint32_t>(index % wide) * size.x,
                   static_cast<std::uint32_t>(index / wide % high) * size.y,
                   static_cast<std::uint32_t>(index / wide / high) * size.z};
  interleaving_ = Interleaving(context_.interleaving, index);
  phase_ = 0;
  operations_.clear();
  for (const auto& cta : ctas_) {
    const std::uint32_t rank = cta->rank();
    cta->start({first.x + rank % size.x, first.y + rank / size.x % size.y,
                first.z + rank / size.x / size.y},
               record);
  }
}

std::optional<Diagnostic> Cluster::end() {
  operations_.clear();
  if (record_ != nullptr) record_->end_blocks();
  return std::exchange(diagnostic_, std::nullopt);
}

bool Cluster::complete_next() {
  if (operations_.empty()) return false;
  const std::size_t chosen =
      interleaving_.plain() ? 0
                            : interleaving_.below(static_cast<std::uint32_t>(operations_.size()));
  const AsyncOperation operation = std::move(operations_[chosen]);
  operations_.erase(operations_.begin() + static_cast<std::ptrdiff_t>(chosen));
  operation.complete();
  wake();
  return true;
}

void Cluster::start(AsyncOperation operation) {
  if (interleaving_.early()) {
    operation.complete();
    wake();
    return;
  }
  if (operation.read_source && interleaving_.early()) operation.read_source();
  operations_.push_back(std::move(operation));
}

void Cluster::finish_groups(const Warp& warp, int lane, std::uint32_t end, Finish what) {
  for (std::size_t i = 0; i < operations_.size() && !has_failed();) {
    const AsyncOperation& each = operations_[i];
    const bool covered = each.warp == &warp && each.lane == lane && each.group < end;
    if (covered && what == Finish::reads && each.read_source) each.read_source();
    if (!covered || what == Finish::reads) {
      ++i;
      continue;
    }
    const AsyncOperation operation = std::move(operations_[i]);
    operations_.erase(operations_.begin() + static_cast<std::ptrdiff_t>(i));
    operation.complete();
  }
  wake();
}

void Cluster::wake() {
  for (Warp* warp : warps_) {
    for (DivergentPath& path : warp->paths) {
      if (path.state == DivergentPath::State::waiting) path.state = DivergentPath::State::ready;
    }
  }
}

bool Cluster::arrive(Warp& warp, const Op& op, std::uint32_t mask) {
  if ((warp.in_cluster_phase & mask) != 0) {
    warp.cta->report(DiagnosticKind::barrier, warp, op,
                     std::countr_zero(warp.in_cluster_phase & mask),
                     "the thread arrives at the cluster's barrier twice without a wait");
    return false;
  }
  warp.in_cluster_phase |= mask;
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    warp.cluster_phase[static_cast<std::size_t>(std::countr_zero(rest))] = phase_ + 1;
  }
  return true;
}

bool Cluster::complete_phase() {
  bool some = false;
  for (const Warp* warp : warps_) {
    if ((warp->in_cluster_phase & warp->live) != warp->live) return false;
    some |= warp->in_cluster_phase != 0;
  }
  if (!some) return false;
  for (Warp* warp : warps_) warp->in_cluster_phase = 0;
  ++phase_;
  wake();
  return true;
}

bool Cluster::passed(const Warp& warp, int lane) const {
  return warp.cluster_phase[static_cast<std::size_t>(lane)] <= phase_;
}

}  // namespace fa_tune::emulator
