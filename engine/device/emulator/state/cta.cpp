#include "engine/device/emulator/state/cta.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "engine/device/emulator/state/cluster.hpp"

namespace fa_tune::emulator {

Cta::Cta(const LaunchContext& context, Cluster& cluster, std::uint32_t rank, Sanitizer* sanitizer)
    : context_(context), cluster_(cluster), rank_(rank), sanitizer_(sanitizer) {
  const Program& program = *context.program;
  const std::uint64_t threads = context.config.block.count();
  warps_.resize((threads + kWarpSize - 1) / kWarpSize);
  // Slots, then predicates, rounded up to a slot.
  register_words_ =
      (std::size_t{program.slots} + (program.predicates + kWarpSize) / kWarpSize) * kWarpSize;
  // On a cache line: a slot is two of them.
  constexpr std::size_t line_words = 16;
  registers_.resize(register_words_ * warps_.size() + program.constants.size() + line_words);
  const std::size_t misplaced =
      reinterpret_cast<std::uintptr_t>(registers_.data()) / sizeof(std::uint32_t) % line_words;
  std::uint32_t* begin = registers_.data() + (line_words - misplaced) % line_words;
  constants_ = begin + register_words_ * warps_.size();
  std::copy(program.constants.begin(), program.constants.end(), constants_);
  shared_.resize(program.dynamic_shared_begin - kSharedReserved +
                 context.config.dynamic_shared_bytes);
  local_.resize(std::size_t{program.local_bytes} * kWarpSize * warps_.size());
  for (std::size_t i = 0; i < warps_.size(); ++i) {
    Warp& warp = warps_[i];
    warp.cta = this;
    warp.index = static_cast<std::uint32_t>(i);
    warp.base[0] = begin + i * register_words_;
    warp.base[1] = constants_;
    warp.predicates = warp.base[0] + std::size_t{program.slots} * kWarpSize;
    warp.local = local_.data() + i * kWarpSize * program.local_bytes;
  }
}

void Cta::start(Dim3 index, Record* record) {
  block_index_ = index;
  record_ = record;
  alive_ = true;
  if (record != nullptr) {
    const Dim3& grid = context_.config.grid;
    record->begin_block((std::uint64_t{index.z} * grid.y + index.y) * grid.x + index.x,
                        warps_.size());
  }
  // What nobody has written reads as NaN, and the same in every run.
  std::fill(shared_.begin(), shared_.end(), std::byte{0xff});
  std::fill(local_.begin(), local_.end(), std::byte{0xff});
  executed_ = 0;
  flop_ = 0;
  free_registers_ = 0;
  last_allocation = nullptr;
  if (!context_.program->wgmma.empty())
    warpgroups_.assign((warps_.size() + kWarpsAGroup - 1) / kWarpsAGroup, Warpgroup());
  for (Warp& warp : warps_) start_warp(warp);
}

void Cta::start_warp(Warp& warp) {
  const Program& program = *context_.program;
  const std::uint64_t threads = context_.config.block.count();
  std::memset(warp.base[0], 0xff, register_words_ * sizeof(std::uint32_t));
  warp.predicates[kPredicateFalse] = 0;
  warp.predicates[kPredicateTrue] = kFullMask;
  const std::uint64_t left = threads - std::uint64_t{warp.index} * kWarpSize;
  warp.live = left >= kWarpSize ? kFullMask : (1U << left) - 1;
  warp.paths.assign(1, {program.entry, warp.live, DivergentPath::State::ready, 0});
  warp.slices = 0;
  warp.slice_begin = 0;
  warp.copies.clear();
  warp.copies_begun = 0;
  warp.awaited = 0;
  warp.committed.fill(0);
  warp.bulk_committed.fill(0);
  warp.polls.start();
  warp.undefined = false;
  warp.in_cluster_phase = 0;
  warp.cluster_phase.fill(0);
  warp.registers = program.thread_registers;
  if (!program.wgmma.empty()) warp.flight.start(program.slots);
  for (std::size_t i = 0; i < program.special_slots.size(); ++i) {
    const std::uint16_t index = program.special_slots[i];
    if (index != kNoOperand) fill_special(warp, static_cast<Special>(i), target_slot(warp, index));
  }
}

void Cta::fill_special(Warp& warp, Special special, std::uint32_t* out) const {
  const LaunchConfig& config = context_.config;
  const Program& program = *context_.program;
  const auto warps = static_cast<std::uint32_t>(warps_.size());
  for (std::uint32_t lane = 0; lane < kWarpSize; ++lane) {
    const std::uint32_t thread = warp.index * kWarpSize + lane;
    const std::uint32_t bit = 1U << lane;
    const auto value = [&]() -> std::uint32_t {
      switch (special) {
        case Special::tid_x:
          return thread % config.block.x;
        case Special::tid_y:
          return thread / config.block.x % config.block.y;
        case Special::tid_z:
          return thread / config.block.x / config.block.y;
        case Special::ntid_x:
          return config.block.x;
        case Special::ntid_y:
          return config.block.y;
        case Special::ntid_z:
          return config.block.z;
        case Special::ctaid_x:
          return block_index_.x;
        case Special::ctaid_y:
          return block_index_.y;
        case Special::ctaid_z:
          return block_index_.z;
        case Special::nctaid_x:
          return config.grid.x;
        case Special::nctaid_y:
          return config.grid.y;
        case Special::nctaid_z:
          return config.grid.z;
        case Special::laneid:
          return lane;
        case Special::warpid:
          return warp.index;
        case Special::nwarpid:
          return warps;
        case Special::lanemask_eq:
          return bit;
        case Special::lanemask_lt:
          return bit - 1;
        case Special::lanemask_le:
          return bit | (bit - 1);
        case Special::lanemask_gt:
          return ~(bit | (bit - 1));
        case Special::lanemask_ge:
          return ~(bit - 1);
        case Special::dynamic_smem_size:
          return config.dynamic_shared_bytes;
        case Special::total_smem_size:
          return program.static_shared_bytes + config.dynamic_shared_bytes;
        case Special::cluster_ctarank:
          return rank_;
        case Special::cluster_nctarank:
          return static_cast<std::uint32_t>(config.cluster.count());
        case Special::cluster_ctaid_x:
          return block_index_.x % config.cluster.x;
        case Special::cluster_ctaid_y:
          return block_index_.y % config.cluster.y;
        case Special::cluster_ctaid_z:
          return block_index_.z % config.cluster.z;
        case Special::cluster_nctaid_x:
          return config.cluster.x;
        case Special::cluster_nctaid_y:
          return config.cluster.y;
        case Special::cluster_nctaid_z:
          return config.cluster.z;
        case Special::clusterid_x:
          return block_index_.x / config.cluster.x;
        case Special::clusterid_y:
          return block_index_.y / config.cluster.y;
        case Special::clusterid_z:
          return block_index_.z / config.cluster.z;
        case Special::nclusterid_x:
          return config.grid.x / config.cluster.x;
        case Special::nclusterid_y:
          return config.grid.y / config.cluster.y;
        case Special::nclusterid_z:
          return config.grid.z / config.cluster.z;
        case Special::envreg1:
          return static_cast<std::uint32_t>(context_.grid_workspace >> 32);
        case Special::envreg2:
          return static_cast<std::uint32_t>(context_.grid_workspace);
        case Special::nsmid:
          return 1;
        case Special::smid:
        case Special::gridid:
        case Special::count:
          break;
      }
      return 0;
    };
    out[lane] = value();
  }
}

Diagnostic Cta::describe(DiagnosticKind kind, const Warp& warp, const Op& op, int lane,
                         const std::string& what) const {
  const Dim3& block = context_.config.block;
  const std::uint32_t thread = warp.index * kWarpSize + static_cast<std::uint32_t>(lane);
  return {kind, fmt::format("{}, {}: {}, block ({},{},{}), thread ({},{},{}): {}",
                            context_.program->kernel, line_text(*context_.program, op),
                            context_.program->names[op.name], block_index_.x, block_index_.y,
                            block_index_.z, thread % block.x, thread / block.x % block.y,
                            thread / block.x / block.y, what)};
}

void Cta::report(DiagnosticKind kind, const Warp& warp, const Op& op, int lane,
                 const std::string& what) {
  if (!cluster_.has_failed()) cluster_.fail(describe(kind, warp, op, lane, what));
}

bool Cta::take_registers(Warp& warp, std::uint32_t count) {
  if (count > warp.registers + free_registers_) return false;
  free_registers_ = free_registers_ + warp.registers - count;
  warp.registers = count;
  cluster_.wake();
  return true;
}

void Cta::give_registers(Warp& warp) {
  if (warp.registers != 0) take_registers(warp, 0);
}

void Cta::note_exits() {
  alive_ =
      std::any_of(warps_.begin(), warps_.end(), [](const Warp& warp) { return warp.live != 0; });
}

}  // namespace fa_tune::emulator
