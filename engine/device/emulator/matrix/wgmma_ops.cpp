#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "engine/device/emulator/matrix/matrix_ops.hpp"
#include "engine/device/emulator/sanitizer/sanitizer.hpp"
#include "engine/device/emulator/state/cluster.hpp"

namespace fa_tune::emulator {
namespace {

using Words = std::array<std::uint32_t, kWarpSize>;

constexpr std::uint32_t kChunkBytes = 16;
constexpr std::uint32_t kChunksARow = 2;  // k takes 32 bytes, whatever the elements
constexpr std::uint32_t kRowsAWarp = 16;
constexpr std::uint32_t kKOfHalves = 16;
constexpr int kMostTiles = 32;

const WgmmaForm& form_of(const Warp& warp, const Op& op) {
  return warp.cta->context().program->wgmma[op.target];
}

// The chunk of shared memory at an address of it, or null.
const std::byte* chunk_at(Warp& warp, std::uint32_t address) {
  const std::span<std::byte> memory = warp.cta->shared();
  const std::uint32_t offset = address - kSharedReserved;
  if (offset > memory.size() || memory.size() - offset < kChunkBytes) return nullptr;
  return memory.data() + offset;
}

// One of the two matrices as `rows` rows of m or n beginning at `first`.
struct Side {
  MatrixDescriptor matrix;
  bool transposed = false;
  std::uint32_t first = 0;
  std::uint32_t rows = 0;

  // f(address) for every chunk that is read.
  template <class F>
  bool each_chunk(F f) const {
    if (transposed) {
      for (std::uint32_t chunk = first / 8; chunk < (first + rows) / 8; ++chunk) {
        for (std::uint32_t k = 0; k < kKOfHalves; ++k) {
          if (!f(matrix.across_k(chunk, k))) return false;
        }
      }
      return true;
    }
    for (std::uint32_t row = first; row < first + rows; ++row) {
      for (std::uint32_t chunk = 0; chunk < kChunksARow; ++chunk) {
        if (!f(matrix.along_k(row, chunk))) return false;
      }
    }
    return true;
  }

  // Fragments of the eight rows from `row` on: the register of a lane for each half of k. Both as
  // mma has A's and B's: lane 4r + t holds word t of a chunk of row r.
  void gather(Warp& warp, std::uint32_t row, std::uint32_t* low, std::uint32_t* high) const {
    std::uint32_t* const halves[] = {low, high};
    if (!transposed) {
      for (std::uint32_t r = 0; r < 8; ++r) {
        for (std::uint32_t chunk = 0; chunk < kChunksARow; ++chunk) {
          std::memcpy(halves[chunk] + std::size_t{4} * r,
                      chunk_at(warp, matrix.along_k(row + r, chunk)), kChunkBytes);
        }
      }
      return;
    }
    std::uint16_t elements[kKOfHalves][8];
    for (std::uint32_t k = 0; k < kKOfHalves; ++k) {
      std::memcpy(elements[k], chunk_at(warp, matrix.across_k(row / 8, k)), kChunkBytes);
    }
    for (std::uint32_t half = 0; half < kChunksARow; ++half) {
      for (std::uint32_t r = 0; r < 8; ++r) {
        for (std::uint32_t t = 0; t < 4; ++t) {
          const std::uint32_t k = 8 * half + 2 * t;
          halves[half][4 * r + t] = std::uint32_t{elements[k + 1][r]} << 16 | elements[k][r];
        }
      }
    }
  }
};

Side side_a(const Warp& warp, const WgmmaForm& form, std::uint64_t descriptor) {
  return {MatrixDescriptor::from(descriptor), form.a_transposed,
          warp.index % kWarpsAGroup * kRowsAWarp, kRowsAWarp};
}
Side side_b(const WgmmaForm& form, std::uint64_t descriptor) {
  return {MatrixDescriptor::from(descriptor), form.b_transposed, 0,
          8 * static_cast<std::uint32_t>(form.tiles)};
}

std::uint32_t signs_of(Element element) {
  const int bits = bits_of(element);
  return bits == 32 ? 0x80000000U : bits == 16 ? 0x80008000U : 0x80808080U;
}

void negate(std::uint32_t* words, std::size_t count, Element element) {
  const std::uint32_t signs = signs_of(element);
  for (std::size_t i = 0; i < count; ++i) words[i] ^= signs;
}

void complete(Warp& warp, WgmmaFlight::Operation& operation) {
  if (operation.done) return;
  operation.done = true;
  const WgmmaForm& form = form_of(warp, *operation.op);
  auto& a = operation.registers;
  if (!form.a_in_registers) {
    const Side side = side_a(warp, form, operation.a);
    side.gather(warp, side.first, a[0].data(), a[2].data());
    side.gather(warp, side.first + 8, a[1].data(), a[3].data());
  }
  if (form.a_negated) {
    for (Words& words : a) negate(words.data(), words.size(), form.kind.a);
  }
  alignas(64) std::uint32_t b[kMostTiles * 2][kWarpSize];
  const Side side = side_b(form, operation.b);
  const auto tiles = static_cast<std::size_t>(form.tiles);
  for (std::size_t tile = 0; tile < tiles; ++tile) {
    side.gather(warp, 8 * static_cast<std::uint32_t>(tile), b[2 * tile], b[2 * tile + 1]);
  }
  if (form.b_negated) negate(b[0], 2 * tiles * kWarpSize, form.kind.b);
  static constexpr std::uint32_t zeros[kWarpSize] = {};
  ConstLanes a_lanes[4];
  ConstLanes b_lanes[kMostTiles * 2];
  Lanes d_lanes[kMostTiles * 4];
  ConstLanes c_lanes[kMostTiles * 4];
  for (std::size_t i = 0; i < 4; ++i) a_lanes[i] = a[i].data();
  for (std::size_t i = 0; i < 2 * tiles; ++i) b_lanes[i] = b[i];
  for (std::size_t i = 0; i < form.sums.size(); ++i) {
    d_lanes[i] = target_slot(warp, form.sums[i]);
    c_lanes[i] = operation.accumulate ? d_lanes[i] : zeros;
  }
  mma_m16(form.kind, form.tiles, {d_lanes, a_lanes, b_lanes, c_lanes});
}

// All that are under way, in order.
void complete_all(Warp& warp) {
  for (WgmmaFlight::Operation& each : warp.flight.operations) complete(warp, each);
}

// Bounds, and what a checked launch wants to know.
bool admit(Warp& warp, const Op& op, const Side& side, const CompletionToken* completion) {
  const Access access{.space = Space::shared, .bytes = kChunkBytes};
  return side.each_chunk([&](std::uint32_t address) {
    const std::byte* memory = chunk_at(warp, address);
    if (memory == nullptr) {
      warp.cta->report(
          DiagnosticKind::out_of_bounds, warp, op, 0,
          fmt::format(
              "reads a matrix at shared address 0x{:x}; outside the block's {} bytes at 0x{:x}",
              address, warp.cta->shared().size(), kSharedReserved));
      return false;
    }
    return completion == nullptr ||
           warp.cta->sanitizer()->async_shared(warp, op, 0, warp.live, *completion, memory,
                                               kChunkBytes, access, true);
  });
}

// Of its own rows of A, and one warp of the group of B: nothing conflicts in the canonical layouts.
void count_operands(Warp& warp, const WgmmaForm& form) {
  constexpr std::uint32_t kRowsAWavefront = 128 / (kChunksARow * kChunkBytes);
  Counters* counters = warp.cta->counters();
  if (counters == nullptr) return;
  std::uint32_t rows = form.a_in_registers ? 0 : kRowsAWarp;
  if (warp.index % kWarpsAGroup == 0) rows += 8 * static_cast<std::uint32_t>(form.tiles);
  counters->shared_wavefronts += rows / kRowsAWavefront;
  counters->shared_wavefronts_ideal += rows / kRowsAWavefront;
}

bool checked(const Warp& warp) { return warp.cta->context().checks.sync; }

// The registers of a wgmma must have been fenced since something else wrote them.
bool fenced(Warp& warp, const Op& op, const WgmmaForm& form) {
  if (!checked(warp)) return true;
  const WgmmaFlight& flight = warp.flight;
  bool wrong = !flight.fenced || flight.unfenced.meets(form.sums);
  for (std::size_t i = 0; form.a_in_registers && i < 4; ++i) {
    wrong |= flight.unfenced.has(op.r[i]);
  }
  if (wrong) {
    warp.cta->report(DiagnosticKind::sync, warp, op, 0,
                     flight.fenced ? "its registers have been written since the last wgmma.fence"
                                   : "no wgmma.fence has come before it");
  }
  return !wrong;
}

}  // namespace

void run_wgmma(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  Warp& warp = warp_of(lanes);
  if (!whole_warp(warp, op, mask)) return;
  const WgmmaForm& form = form_of(warp, op);
  if (!fenced(warp, op, form)) return;
  WgmmaFlight& flight = warp.flight;
  WgmmaFlight::Operation operation;
  operation.op = &op;
  operation.group = flight.committed;
  const std::uint32_t adds = lanes.predicates[op.r[6]];
  operation.accumulate = ((op.m[0] != 0 ? ~adds : adds) & 1U) != 0;
  operation.b = slot64(lanes, op.r[5])[0];
  CompletionToken completion;
  const CompletionToken* told = nullptr;
  if (Sanitizer* sanitizer = warp.cta->sanitizer()) {
    completion = sanitizer->by_group(warp, 0, flight.committed, AsyncGroupKind::wgmma, op);
    told = &completion;
  }
  if (!admit(warp, op, side_b(form, operation.b), told)) return;
  const std::string wrong =
      warp.cta->warpgroup(warp).issue(warp.index % kWarpsAGroup, {&op, operation.b});
  if (!wrong.empty()) {
    warp.cta->report(DiagnosticKind::sync, warp, op, 0, wrong);
    return;
  }
  if (form.a_in_registers) {
    for (std::size_t i = 0; i < 4; ++i) {
      std::copy_n(slot(lanes, op.r[i]), kWarpSize, operation.registers[i].begin());
    }
  } else {
    operation.a = slot64(lanes, op.r[4])[0];
    if (!admit(warp, op, side_a(warp, form, operation.a), told)) return;
  }
  count_tensor(lanes, op);
  count_operands(warp, form);
  flight.operations.push_back(operation);
  for (const std::uint16_t each : form.sums) flight.sums.set(each);
  if (warp.cta->cluster().interleaving().early()) complete_all(warp);
}

void run_wgmma_fence(LaneFile& lanes, const Op&, std::uint32_t) {
  WgmmaFlight& flight = warp_of(lanes).flight;
  flight.fenced = true;
  flight.unfenced.clear();
}

void run_wgmma_commit(LaneFile& lanes, const Op&, std::uint32_t) {
  ++warp_of(lanes).flight.committed;
}

void run_wgmma_wait(LaneFile& lanes, const Op& op, std::uint32_t) {
  Warp& warp = warp_of(lanes);
  WgmmaFlight& flight = warp.flight;
  if (Record* record = warp.cta->record()) record->totals.async_waits += 1;
  const std::int64_t end = std::int64_t{flight.committed} - op.immediate;
  if (end <= 0) return;
  for (WgmmaFlight::Operation& each : flight.operations) {
    if (each.group < end) complete(warp, each);
  }
  std::erase_if(flight.operations, [&](const auto& each) { return each.group < end; });
  flight.sums.clear();
  for (const WgmmaFlight::Operation& each : flight.operations) {
    for (const std::uint16_t sum : form_of(warp, *each.op).sums) flight.sums.set(sum);
  }
  if (Sanitizer* sanitizer = warp.cta->sanitizer()) {
    sanitizer->wait_groups(warp, 0, warp.live, static_cast<std::uint32_t>(end),
                           AsyncGroupKind::wgmma);
  }
}

bool check_wgmma_registers(Warp& warp, std::uint32_t pc) {
  const Program& program = *warp.cta->context().program;
  const Op& op = program.ops[pc];
  if (op.run == run_wgmma) return true;  // several may add to the same sums
  WgmmaFlight& flight = warp.flight;
  const auto reads = program.def_use.reads(pc);
  const auto writes = program.def_use.writes(pc);
  const bool moves = program.names[op.name].starts_with("mov.");
  if (flight.sums.meets(reads) || flight.sums.meets(writes)) {
    if (!moves && checked(warp)) {
      warp.cta->report(DiagnosticKind::sync, warp, op, 0,
                       fmt::format("touches a sum of {} at line {}, which has not been waited for",
                                   program.names[flight.operations.front().op->name],
                                   flight.operations.front().op->line));
      return false;
    }
    complete_all(warp);
  }
  if (checked(warp)) {
    // A move is the compiler's: it takes along whether its source is in order.
    const bool wrong = !moves || flight.unfenced.meets(reads);
    for (const std::uint16_t each : writes) {
      if (each < program.slots) flight.unfenced.set(each, wrong);
    }
  }
  return true;
}

}  // namespace fa_tune::emulator
