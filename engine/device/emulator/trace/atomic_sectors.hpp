#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>

namespace fa_tune::emulator {

// How often the CTAs that were counted operated atomically on each sector of global memory, 32
// bytes. What a warp's instruction does to different words of a sector is one operation; to one
// word, its lanes' are as many as they are.
class AtomicSectors {
 public:
  struct Sector {
    std::uint64_t operations = 0;
    std::uint64_t real = 0;    // of them, of floating point
    std::uint64_t blocks = 0;  // CTAs, or clusters, that did
    std::uint64_t last = ~std::uint64_t{0};
  };

  // One instruction of a warp: the addresses of its lanes.
  void add(std::uint64_t block, std::span<const std::uint64_t> addresses, bool is_real);
  // What other CTAs did.
  void join(const AtomicSectors& other);
  // By address / 32.
  const std::unordered_map<std::uint64_t, Sector>& all() const { return sectors_; }

 private:
  std::unordered_map<std::uint64_t, Sector> sectors_;
};

}  // namespace fa_tune::emulator
