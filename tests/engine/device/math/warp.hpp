#pragma once

#include <array>
#include <cstdint>

#include "engine/device/emulator/tensor_core/tensor_core_reference.hpp"

namespace fa_tune::emulator {

// The registers of one warp for one mma, and the pointers to them that the functions take.
struct Warp {
  std::array<std::array<std::uint32_t, 32>, 4> a{};
  std::array<std::array<std::uint32_t, 32>, 2> b{};
  std::array<std::array<std::uint32_t, 32>, 4> c{};
  std::array<std::array<std::uint32_t, 32>, 4> d{};
  std::array<ConstLanes, 4> a_lanes{};
  std::array<ConstLanes, 2> b_lanes{};
  std::array<ConstLanes, 4> c_lanes{};
  std::array<Lanes, 4> d_lanes{};

  Warp() {
    for (std::size_t r = 0; r < 4; ++r) {
      a_lanes[r] = a[r].data();
      c_lanes[r] = c[r].data();
      d_lanes[r] = d[r].data();
    }
    for (std::size_t r = 0; r < 2; ++r) b_lanes[r] = b[r].data();
  }
  Warp(const Warp&) = delete;
  Warp& operator=(const Warp&) = delete;

  Fragments fragments() const {
    return {d_lanes.data(), a_lanes.data(), b_lanes.data(), c_lanes.data()};
  }
};

}  // namespace fa_tune::emulator
