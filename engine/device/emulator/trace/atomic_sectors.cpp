#include "engine/device/emulator/trace/atomic_sectors.hpp"

#include <algorithm>
#include <vector>

#include "engine/device/emulator/target/profile.hpp"

namespace fa_tune::emulator {

void AtomicSectors::add(std::uint64_t block, std::span<const std::uint64_t> addresses,
                        bool is_real) {
  std::vector<std::uint64_t> sorted(addresses.begin(), addresses.end());
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < sorted.size();) {
    const std::uint64_t number = sorted[i] / kSectorBytes;
    std::uint64_t operations = 0;
    while (i < sorted.size() && sorted[i] / kSectorBytes == number) {
      const std::size_t first = i;
      while (i < sorted.size() && sorted[i] == sorted[first]) ++i;
      operations = std::max<std::uint64_t>(operations, i - first);
    }
    Sector& sector = sectors_[number];
    sector.operations += operations;
    if (is_real) sector.real += operations;
    sector.blocks += sector.last != block;
    sector.last = block;
  }
}

void AtomicSectors::join(const AtomicSectors& other) {
  for (const auto& [number, theirs] : other.sectors_) {
    Sector& sector = sectors_[number];
    sector.operations += theirs.operations;
    sector.real += theirs.real;
    sector.blocks += theirs.blocks;
  }
}

}  // namespace fa_tune::emulator
