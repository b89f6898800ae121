#include "engine/device/emulator/state/warpgroup.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "engine/device/emulator/ir/program.hpp"

namespace fa_tune::emulator {

std::string Warpgroup::issue(std::uint32_t warp, const Product& product) {
  const std::uint64_t number = issued_[warp]++;
  for (std::size_t other = 0; other < kWarpsAGroup; ++other) {
    if (gone_[other] && issued_[other] <= number)
      return "another warp of its warpgroup has exited without it";
  }
  const std::uint64_t at = number - first_;
  if (at == products_.size()) products_.push_back(product);
  const Product other = products_[at];
  while (!products_.empty() && *std::ranges::min_element(issued_) > first_) {
    products_.pop_front();
    ++first_;
  }
  if (product == other) return {};
  if (product.op == other.op)
    return "its matrix descriptor is not that of the other warps of its warpgroup";
  return fmt::format("another warp of its warpgroup executes the wgmma at line {} in its place",
                     other.op->line);
}

std::string Warpgroup::exit(std::uint32_t warp) {
  gone_[warp] = true;
  const std::uint64_t left = issued_[warp] - first_;
  if (left >= products_.size()) return {};
  return fmt::format("exits without the wgmma at line {} that its warpgroup executes",
                     products_[left].op->line);
}

}  // namespace fa_tune::emulator
