#include <cstring>

#include "engine/device/emulator/matrix/matrix_ops.hpp"
#include "engine/device/emulator/matrix/wmma_layout.hpp"
#include "engine/device/emulator/memory/address_resolution.hpp"

// wmma.load, wmma.store: r[0..7]: the fragment; r[8]: address; r[9]: stride in elements; m[0]:
// space; m[2], immediate as in access.hpp; m[1], m[3..5], target: WmmaFragment; m[6]: 1 (aligned).

namespace fa_tune::emulator {
namespace {

// Moves the registers of a fragment to or from memory in the accesses that ptxas makes of it: the
// four bytes of a register where they lie together, else bytes one by one, but pairs of 16 bits
// along the other axis, which are transposed within the warp; two registers of sums at once where
// neighbours lie together.
class Mover {
 public:
  Mover(LaneFile& lanes, const Op& op, bool store)
      : lanes_(lanes),
        op_(op),
        warp_(warp_of(lanes)),
        fragment_(WmmaFragment::unpack(op)),
        store_(store) {
    compute_addresses(lanes, op, op.r[8], op.m[2], base_);
    stride_ = slot(lanes, op.r[9]);
  }

  bool move() {
    const bool pairs =
        fragment_.role == WmmaFragment::Role::sums && fragment_.bits >= 32 && fragment_.contiguous;
    for (int i = 0; i < fragment_.distinct; i += pairs ? 2 : 1) {
      if (!(fragment_.bits >= 32   ? elements(i, pairs ? 2 : 1)
            : fragment_.contiguous ? word(i)
            : fragment_.bits == 16 ? transposed(i)
                                   : bytes(i))) {
        return false;
      }
    }
    return true;
  }

 private:
  // The address of an element: `line` and `place` by their meaning, not as they lie in memory.
  std::uint64_t address(std::size_t lane, int line, int place) const {
    const auto l = static_cast<std::uint64_t>(line);
    const auto p = static_cast<std::uint64_t>(place);
    const std::uint64_t stride = stride_[lane];
    const std::uint64_t elements = fragment_.contiguous ? l * stride + p : p * stride + l;
    return base_[lane] + elements * static_cast<std::uint64_t>(fragment_.bits) / 8;
  }

  bool locate(std::uint32_t size, const auto& place, Pointers& pointers) {
    Addresses addresses;
    for (std::size_t lane = 0; lane < kWarpSize; ++lane) {
      const WmmaFragment::Place at = place(static_cast<int>(lane));
      addresses[lane] = address(lane, at.line, at.place);
      // An address of 32 bits stays one.
      if (op_.m[2] == 4) addresses[lane] &= 0xFFFFFFFFU;
    }
    const Access access{static_cast<Space>(op_.m[0]), size, store_};
    if (!resolve(warp_, op_, kFullMask, access, addresses, pointers)) return false;
    if (Record* record = warp_.cta->record()) {
      count_access(*record, kFullMask, access, addresses);
    }
    return true;
  }

  void copy(std::byte* memory, void* registers, std::size_t size) const {
    if (store_) {
      std::memcpy(memory, registers, size);
    } else {
      std::memcpy(registers, memory, size);
    }
  }

  // A store only reads them.
  std::uint32_t* words(int i) {
    return const_cast<std::uint32_t*>(slot(lanes_, op_.r[static_cast<std::size_t>(i)]));
  }

  // Elements of 32 or 64 bits, of `count` registers that are neighbours.
  bool elements(int i, int count) {
    const WmmaFragment::Place first = fragment_.place_of(i);
    const int step = fragment_.role == WmmaFragment::Role::sums ? 2 : 1;
    const auto size = static_cast<std::size_t>(fragment_.bits) / 8;
    Pointers pointers;
    if (!locate(
            static_cast<std::uint32_t>(size) * static_cast<std::uint32_t>(count),
            [&](int lane) {
              return WmmaFragment::Place{first.line + lane / 4, first.place + step * (lane % 4)};
            },
            pointers)) {
      return false;
    }
    for (int j = 0; j < count; ++j) {
      auto* at = reinterpret_cast<std::byte*>(words(i + j));
      for (std::size_t lane = 0; lane < kWarpSize; ++lane) {
        copy(pointers[lane] + static_cast<std::size_t>(j) * size, at + lane * size, size);
      }
    }
    return true;
  }

  // Packed elements that lie side by side.
  bool word(int i) {
    const WmmaFragment::Place first = fragment_.place_of(i);
    const int each = 32 / fragment_.bits;
    Pointers pointers;
    if (!locate(
            4,
            [&](int lane) {
              return WmmaFragment::Place{first.line + lane / 4, first.place + each * (lane % 4)};
            },
            pointers)) {
      return false;
    }
    for (std::size_t lane = 0; lane < kWarpSize; ++lane) copy(pointers[lane], words(i) + lane, 4);
    return true;
  }

  bool transposed(int i) {
    const WmmaFragment::Place first = fragment_.place_of(i);
    Pointers pointers;
    if (!locate(
            4,
            [&](int lane) {
              return WmmaFragment::Place{first.line + 2 * (lane % 4), first.place + lane / 4};
            },
            pointers)) {
      return false;
    }
    std::uint32_t turned[kWarpSize];
    if (store_) transpose_8x8(words(i), turned);
    for (std::size_t lane = 0; lane < kWarpSize; ++lane) copy(pointers[lane], turned + lane, 4);
    if (!store_) transpose_8x8(turned, words(i));
    return true;
  }

  // Four bytes of four places that lie apart. There is no such store.
  bool bytes(int i) {
    const WmmaFragment::Place first = fragment_.place_of(i);
    std::uint32_t result[kWarpSize] = {};
    for (int j = 0; j < 4; ++j) {
      Pointers pointers;
      if (!locate(
              1,
              [&](int lane) {
                return WmmaFragment::Place{first.line + lane / 4, first.place + 4 * (lane % 4) + j};
              },
              pointers)) {
        return false;
      }
      for (std::size_t lane = 0; lane < kWarpSize; ++lane) {
        result[lane] |= std::to_integer<std::uint32_t>(*pointers[lane]) << (8 * j);
      }
    }
    std::memcpy(words(i), result, sizeof(result));
    return true;
  }

  LaneFile& lanes_;
  const Op& op_;
  Warp& warp_;
  WmmaFragment fragment_;
  bool store_;
  Addresses base_;
  const std::uint32_t* stride_ = nullptr;
};

}  // namespace

void run_wmma_load(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  if (!whole_warp(warp_of(lanes), op, mask)) return;
  Mover mover(lanes, op, false);
  if (!mover.move()) return;
  const WmmaFragment fragment = WmmaFragment::unpack(op);
  for (int i = fragment.distinct; i < fragment.registers; ++i) {
    const auto from = static_cast<std::size_t>(i % fragment.distinct);
    std::memcpy(target_slot(lanes, op.r[static_cast<std::size_t>(i)]), slot(lanes, op.r[from]),
                kWarpSize * 4);
  }
}

void run_wmma_store(LaneFile& lanes, const Op& op, std::uint32_t mask) {
  if (!whole_warp(warp_of(lanes), op, mask)) return;
  Mover(lanes, op, true).move();
}

}  // namespace fa_tune::emulator
