#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace fa_tune {

// Sums of rows with coefficients, out[j] += sum over i of coefficients[i] * rows[i * width + j],
// as Hopper's tensor cores add products of e4m3 (wgmma; MMA-Sim, arXiv 2511.10909): in
// steps of 32, of each of which the sum so far and the products are cut off, towards zero, at 13
// bits below the largest one's leading bit, and then the new sum at 13 bits below its own.
inline void add_rows_cut_off(float* __restrict out, std::size_t width,
                             const float* __restrict coefficients, std::size_t count,
                             const float* __restrict rows) {
  constexpr std::size_t step = 32;
  constexpr std::size_t lanes = 16;
  constexpr std::uint32_t exponent = 0x7f800000U;
  constexpr std::uint32_t kept = ~0x3ffU;  // 13 of 23 fraction bits
  for (std::size_t first = 0; first < count; first += step) {
    const std::size_t end = std::min(first + step, count);
    for (std::size_t from = 0; from < width; from += lanes) {
      const std::size_t here = std::min(lanes, width - from);
      std::array<std::uint32_t, lanes> largest{};
      std::array<float, lanes> unit{}, per_unit{}, sum{};
      for (std::size_t j = 0; j < here; ++j)
        largest[j] = std::bit_cast<std::uint32_t>(out[from + j]) & exponent;
      for (std::size_t i = first; i < end; ++i)
        for (std::size_t j = 0; j < here; ++j)
          largest[j] =
              std::max(largest[j],
                       std::bit_cast<std::uint32_t>(coefficients[i] * rows[i * width + from + j]) &
                           exponent);
      for (std::size_t j = 0; j < here; ++j) {
        // Not below 2^-100: neither 2^-13 of it nor its inverse then leave the normal numbers.
        const std::uint32_t top = std::max(largest[j], 27U << 23);
        unit[j] = std::bit_cast<float>(top - (13U << 23));
        per_unit[j] = std::bit_cast<float>((254U << 23) - (top - (13U << 23)));
        sum[j] = static_cast<float>(static_cast<std::int32_t>(out[from + j] * per_unit[j]));
      }
      for (std::size_t i = first; i < end; ++i)
        for (std::size_t j = 0; j < here; ++j)
          sum[j] += static_cast<float>(static_cast<std::int32_t>(
              coefficients[i] * rows[i * width + from + j] * per_unit[j]));
      for (std::size_t j = 0; j < here; ++j)
        out[from + j] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(sum[j] * unit[j]) & kept);
    }
  }
}

}  // namespace fa_tune
