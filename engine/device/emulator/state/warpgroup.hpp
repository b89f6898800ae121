#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

namespace fa_tune::emulator {

struct Op;

inline constexpr std::uint32_t kWarpsAGroup = 4;

// The wgmma instructions of a warpgroup, in their order. All of its threads execute the same ones
// with the same matrices (PTX ISA, "wgmma.mma_async": .aligned, and "matrix descriptor"): what a GPU
// does otherwise is undefined.
class Warpgroup {
 public:
  struct Product {
    const Op* op = nullptr;
    std::uint64_t b = 0;  // descriptor, the same for all warps

    bool operator==(const Product&) const = default;
  };

  // Warp `warp` of the group, 0 to 3, issues `product`. Empty, or how it differs from what another
  // warp of the group issued in its place.
  std::string issue(std::uint32_t warp, const Product& product);
  // It exits. Empty, or what another warp of the group issued and it did not.
  std::string exit(std::uint32_t warp);

 private:
  std::array<std::uint64_t, kWarpsAGroup> issued_{};  // by each warp
  std::array<bool, kWarpsAGroup> gone_{};
  std::uint64_t first_ = 0;       // number of the first in products_
  std::deque<Product> products_;  // that some warp has issued, and not all have
};

}  // namespace fa_tune::emulator
