#include "engine/device/emulator/memory/shared_wavefronts.hpp"

#include <algorithm>
#include <array>

namespace fa_tune::emulator {
namespace {

constexpr std::uint32_t kBankBytes = 128;  // 32 banks of 4 bytes

// Of these lanes together: a wavefront for each different piece in the banks that most want. Pieces
// are aligned, so each has its banks for itself or shares all of them with another.
std::uint32_t wavefronts_together(std::uint32_t mask, std::uint32_t begin, std::uint32_t end,
                                  std::uint32_t piece, const Addresses& addresses) {
  const std::uint32_t pieces = kBankBytes / piece;
  std::array<std::array<std::uint64_t, kWarpSize>, kWarpSize> held;  // different pieces by banks
  std::array<std::uint32_t, kWarpSize> counts{};
  std::uint32_t worst = 0;
  for (std::uint32_t lane = begin; lane < end; ++lane) {
    if ((mask >> lane & 1U) == 0) continue;
    const std::uint64_t wanted = addresses[lane] / piece;
    const std::size_t place = wanted % pieces;
    const auto first = held[place].begin();
    const auto last = first + counts[place];
    if (std::find(first, last, wanted) != last) continue;  // one piece serves all who want it
    held[place][counts[place]++] = wanted;
    worst = std::max(worst, counts[place]);
  }
  return worst;
}

// 32 lanes go together at up to 4 bytes a lane, half a warp at 8, a quarter at 16: as many as the
// 128 bytes of all banks have pieces.
std::uint32_t piece_of(std::uint32_t bytes) { return std::clamp(bytes, 4U, 16U); }

// Whether every lane that is so far from another wants what that one wants.
bool are_paired(std::uint32_t mask, std::uint32_t begin, std::uint32_t end, std::uint32_t apart,
                std::uint32_t piece, const Addresses& addresses) {
  for (std::uint32_t lane = begin; lane < end; ++lane) {
    const std::uint32_t other = lane ^ apart;
    if ((mask >> lane & mask >> other & 1U) != 0 &&
        addresses[lane] / piece != addresses[other] / piece)
      return false;
  }
  return true;
}

}  // namespace

Wavefronts shared_wavefronts(std::uint32_t mask, std::uint32_t bytes, const Addresses& addresses) {
  // Twice as many lanes go together where neighbours, or lanes two apart, want the same: not
  // published; a load of 16 bytes of one address by all lanes has two wavefronts by Nsight Compute's
  // count on an H100 (tools/bench/results/limiters).
  const std::uint32_t piece = piece_of(bytes);
  const std::uint32_t lanes = kBankBytes / piece;
  const std::uint32_t twice = std::min<std::uint32_t>(2 * lanes, kWarpSize);
  Wavefronts all;
  for (std::uint32_t begin = 0; begin < kWarpSize; begin += twice) {
    const std::uint32_t end = begin + twice;
    const bool paired = are_paired(mask, begin, end, 1, piece, addresses) ||
                        are_paired(mask, begin, end, 2, piece, addresses);
    const std::uint32_t step = paired ? twice : lanes;
    for (std::uint32_t from = begin; from < end; from += step)
      all.add(wavefronts_together(mask, from, from + step, piece, addresses));
  }
  return all;
}

Wavefronts shared_wavefronts_of_rows(std::uint32_t givers, const Addresses& addresses) {
  constexpr std::uint32_t row_bytes = 16, rows = 8;
  Wavefronts all;
  for (std::uint32_t begin = 0; begin < kWarpSize; begin += rows)
    all.add(wavefronts_together(givers, begin, begin + rows, row_bytes, addresses));
  return all;
}

std::uint32_t global_wavefronts(std::uint32_t mask, std::uint32_t bytes,
                                const Addresses& addresses) {
  // By tools/bench/results/clock/microbench_l1_loads.json, an H100: in L1 no lanes are paired, and
  // four lines are looked up a clock.
  constexpr std::uint32_t kLinesAClock = 4;
  const std::uint32_t piece = piece_of(bytes);
  const std::uint32_t lanes = kBankBytes / piece;
  std::array<std::uint64_t, kWarpSize> lines;
  std::uint32_t wavefronts = 0, different = 0;
  for (std::uint32_t from = 0; from < kWarpSize; from += lanes)
    wavefronts += wavefronts_together(mask, from, from + lanes, piece, addresses);
  for (std::uint32_t lane = 0; lane < kWarpSize; ++lane) {
    if ((mask >> lane & 1U) == 0) continue;
    const std::uint64_t line = addresses[lane] / kBankBytes;
    const auto end = lines.begin() + different;
    if (std::find(lines.begin(), end, line) == end) lines[different++] = line;
  }
  return std::max(wavefronts, (different + kLinesAClock - 1) / kLinesAClock);
}

}  // namespace fa_tune::emulator
