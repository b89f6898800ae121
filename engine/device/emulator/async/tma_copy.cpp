#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <optional>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/device/emulator/async/async_copy.hpp"
#include "engine/device/emulator/async/mbarrier_ops.hpp"
#include "engine/device/emulator/async/tensor_map.hpp"
#include "engine/device/emulator/memory/memory_ops.hpp"

// Bulk tensor copies and reductions in tile mode. What they count on an mbarrier is the whole box;
// stores leave out what lies outside the tensor.

namespace fa_tune::emulator {
namespace {

constexpr std::uint32_t kPiece = 16;      // bytes that change places as one
constexpr std::uint32_t kBoxAlign = 128;  // of a box in shared memory

// Which reductions there are: PTX ISA, cp.reduce.async.bulk.
bool can_reduce(Atomic what, Type type) {
  switch (what) {
    case Atomic::add:
      return type != Type::u8 && type != Type::u16 && type != Type::s64;
    case Atomic::min:
    case Atomic::max:
      return type != Type::u8 && type != Type::u16 && type != Type::f32 && type != Type::f64;
    case Atomic::inc:
    case Atomic::dec:
      return type == Type::u32;
    case Atomic::bit_and:
    case Atomic::bit_or:
    case Atomic::bit_xor:
      return size_of(type) >= 4 && !is_float(type);
    default:
      return false;
  }
}

// A copy between a box of a tensor and shared memory, made when it is issued.
class TensorCopy {
 public:
  TensorCopy(Warp& warp, const Op& op, int lane, const TensorMapBits& map,
             std::span<const std::int32_t> coordinates)
      : warp_(warp), op_(op), lane_(lane), map_(map), box_(map, coordinates) {
    swizzle_bits_ = map.swizzle == 0 ? 0 : static_cast<unsigned>(std::bit_width(map.swizzle));
  }

  std::uint32_t bytes() const { return box_.bytes(); }
  Cluster& cluster() const { return warp_.cta->cluster(); }

  // Whether all of it lies where it may; else false, after a report.
  bool legal(Space space, std::uint64_t shared_address, bool loads) const {
    return shared(space, shared_address, loads) != nullptr && in_global(!loads);
  }

  bool watch_load(const std::vector<BulkTarget>& targets) const {
    return watch_bulk_load(warp_, op_, lane_, targets, nullptr, pieces(), box_.bytes());
  }
  bool watch_store(std::uint64_t shared_address) const {
    const std::byte* from = shared(Space::shared, shared_address, false);
    return from != nullptr && watch_bulk_store(warp_, op_, lane_, from, pieces(), box_.bytes());
  }

  void load(const std::vector<BulkTarget>& targets) const {
    if (!in_global(false)) return;
    std::vector<std::byte> bytes(box_.bytes());
    gather(bytes);
    for (const BulkTarget& each : targets) {
      std::byte* to = shared(Space::cluster, each.address, true);
      if (to == nullptr) return;
      each_piece(each.address, [&](std::uint32_t in_box, std::uint32_t in_shared) {
        std::memcpy(to + in_shared, bytes.data() + in_box, kPiece);
      });
      if (!complete_bulk(warp_, op_, lane_, each, box_.bytes())) return;
    }
  }

  // Reads the box out of shared memory. Nothing after a report.
  std::vector<std::byte> read_source(std::uint64_t shared_address) const {
    std::vector<std::byte> bytes;
    const std::byte* from = shared(Space::shared, shared_address, false);
    if (from == nullptr) return bytes;
    bytes.resize(box_.bytes());
    each_piece(shared_address, [&](std::uint32_t in_box, std::uint32_t in_shared) {
      std::memcpy(bytes.data() + in_box, from + in_shared, kPiece);
    });
    return bytes;
  }

  void store(std::span<const std::byte> bytes) const {
    std::size_t at = 0;
    for (const TensorBox::Row& row : box_.rows()) {
      const std::byte* from = bytes.data() + at + row.before * map_.element_bytes;
      at += box_.row_bytes();
      if (row.inside == 0) continue;
      std::byte* to = global(row, true);
      if (to == nullptr) return;
      const std::size_t size = std::size_t{row.inside} * map_.element_bytes;
      if (op_.m[2] == 0) {
        std::memcpy(to, from, size);
      } else {
        reduce_elements(static_cast<Atomic>(op_.m[2] - 1), type_of(map_.element), to, from, size);
      }
    }
  }

 private:
  std::byte* shared(Space space, std::uint64_t address, bool write) const {
    return resolve_one(warp_, op_, lane_,
                       {.space = space, .bytes = box_.bytes(), .write = write, .align = kBoxAlign},
                       address);
  }
  std::byte* global(const TensorBox::Row& row, bool write) const {
    return resolve_one(warp_, op_, lane_,
                       {.space = Space::global,
                        .bytes = row.inside * map_.element_bytes,
                        .write = write,
                        .align = 1},
                       row.address);
  }
  std::vector<GlobalPiece> pieces() const {
    std::vector<GlobalPiece> result;
    for (const TensorBox::Row& row : box_.rows()) {
      if (row.inside != 0) result.push_back({row.address, row.inside * map_.element_bytes});
    }
    return result;
  }
  bool in_global(bool write) const {
    for (const TensorBox::Row& row : box_.rows()) {
      if (row.inside != 0 && global(row, write) == nullptr) return false;
    }
    return true;
  }

  void gather(std::span<std::byte> bytes) const {
    const std::array<std::byte, 8> fill = fill_of(map_);
    std::size_t at = 0;
    for (const TensorBox::Row& row : box_.rows()) {
      if (row.inside < map_.box(0)) {
        for (std::size_t i = 0; i < box_.row_bytes(); i += map_.element_bytes) {
          std::memcpy(bytes.data() + at + i, fill.data(), map_.element_bytes);
        }
      }
      if (row.inside != 0) {
        std::memcpy(bytes.data() + at + row.before * map_.element_bytes, global(row, false),
                    std::size_t{row.inside} * map_.element_bytes);
      }
      at += box_.row_bytes();
    }
  }

  // f(place in the box, place in shared memory), both from their begin.
  template <class F>
  void each_piece(std::uint64_t shared_address, F f) const {
    const auto begin = static_cast<std::uint32_t>(shared_address) & kSharedOffsetMask;
    for (std::uint32_t at = 0; at < box_.bytes(); at += kPiece) {
      f(at, swizzled(begin + at, swizzle_bits_) - begin);
    }
  }

  Warp& warp_;
  const Op& op_;
  int lane_;
  TensorMapBits map_;
  TensorBox box_;
  unsigned swizzle_bits_ = 0;
};

std::optional<TensorMapBits> find_map(Warp& warp, const Op& op, int lane) {
  const std::uint64_t address = slot64(warp, op.r[10])[lane];
  const std::byte* bytes =
      resolve_one(warp, op, lane,
                  {.space = Space::generic, .bytes = sizeof(TensorMapBits), .align = 64}, address);
  if (bytes == nullptr) return std::nullopt;
  const auto map = tensor_map_from(std::span<const std::byte, 128>(bytes, 128));
  const std::uint32_t row = map ? map->box(0) * map->element_bytes : 0;
  std::string wrong;
  if (!map) {
    wrong = fmt::format("there is no tensor map at 0x{:x}, or only a part of one", address);
  } else if (row % kPiece != 0 || (map->swizzle != 0 && row > map->swizzle * 32U)) {
    wrong = fmt::format(
        "a row of the box has {} bytes, no multiple of 16 or more than the swizzle spans", row);
  } else if (map->rank != op.m[4]) {
    wrong = fmt::format("a tensor map of {} dimensions in a copy of {}", map->rank, op.m[4]);
  } else if (op.m[2] != 0) {
    const Type type = type_of(map->element);
    if (!can_reduce(static_cast<Atomic>(op.m[2] - 1), type)) {
      wrong = fmt::format("there is no such reduction of {}", name_of(type));
    }
  }
  if (wrong.empty()) return map;
  warp.cta->report(DiagnosticKind::sync, warp, op, lane, wrong);
  return std::nullopt;
}

using BoxCoordinates = std::array<std::int32_t, 5>;

// Whether a GPU makes a copy at these coordinates; else false, after a report. The PTX ISA is silent
// about both rules: they are what an H100 did with 324 boxes (tools/bench/emulator/tensor_coordinates),
// which stopped with an illegal instruction at all that break one and at no other.
bool can_begin_at(Warp& warp, const Op& op, int lane, const TensorMapBits& map,
                  const BoxCoordinates& coordinates) {
  const std::int64_t first = std::int64_t{coordinates[0]} * map.element_bytes;
  if (first % kPiece != 0) {
    warp.cta->report(DiagnosticKind::misaligned, warp, op, lane,
                     fmt::format("a tensor copy begins {} bytes into its rows, not at a multiple "
                                 "of {}: an illegal instruction on a GPU",
                                 first, kPiece));
    return false;
  }
  const auto used = std::span(coordinates).first(map.rank);
  if (static_cast<Route>(op.m[0]) == Route::store &&
      std::ranges::any_of(used, [](std::int32_t each) { return each < 0; })) {
    warp.cta->report(DiagnosticKind::out_of_bounds, warp, op, lane,
                     fmt::format("a tensor store begins at ({}), before its tensor: an illegal "
                                 "instruction on a GPU",
                                 fmt::join(used, ", ")));
    return false;
  }
  return true;
}

void start_load(Warp& warp, const Op& op, int lane, const TensorCopy& copy) {
  const std::vector<BulkTarget> targets = bulk_targets(warp, op, lane);
  for (const BulkTarget& each : targets) {
    if (!copy.legal(Space::cluster, each.address, true)) return;
  }
  if (!copy.watch_load(targets)) return;
  record_bulk_load(warp, op, lane, targets, static_cast<std::uint32_t>(copy.bytes()));
  copy.cluster().start(
      {&warp, &op, lane, AsyncOperation::kNoGroup, [copy, targets] { copy.load(targets); }, {}});
}

void start_store(Warp& warp, const Op& op, int lane, const TensorCopy& copy) {
  const std::uint64_t source = bulk_operand(warp, op, 1, lane);
  if (!copy.legal(Space::shared, source, false) || !copy.watch_store(source)) return;
  record_bulk_store(warp, static_cast<std::uint32_t>(copy.bytes()));
  const auto payload = std::make_shared<std::vector<std::byte>>();
  const auto read_source = [copy, payload, source] {
    if (payload->empty()) *payload = copy.read_source(source);
  };
  copy.cluster().start({&warp, &op, lane, warp.bulk_committed[static_cast<std::size_t>(lane)],
                        [copy, payload, read_source] {
                          read_source();
                          if (!payload->empty()) copy.store(*payload);
                        },
                        read_source});
}

}  // namespace

void run_tensor_copy(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  Warp& warp = warp_of(lanes);
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const auto map = find_map(warp, op, lane);
    if (!map) return;
    BoxCoordinates coordinates{};
    for (std::size_t i = 0; i < op.m[4]; ++i) {
      coordinates[i] = static_cast<std::int32_t>(slot(lanes, op.r[5 + i])[lane]);
    }
    if (!can_begin_at(warp, op, lane, *map, coordinates)) return;
    const TensorCopy copy(warp, op, lane, *map, coordinates);
    count_bulk(warp, copy.bytes());
    if (static_cast<Route>(op.m[0]) == Route::store) {
      start_store(warp, op, lane, copy);
    } else {
      start_load(warp, op, lane, copy);
    }
    if (copy.cluster().has_failed()) return;
  }
}

}  // namespace fa_tune::emulator
