#include "engine/device/emulator/sanitizer/vector_clocks.hpp"

namespace fa_tune::emulator {

void join(Clock& into, const Clock& from) {
  if (into.size() < from.size()) into.resize(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) into[i] = std::max(into[i], from[i]);
}

VectorClocks::VectorClocks(std::uint32_t warps) : times_(warps, 1), known_(warps, Clock(warps)) {
  for (std::uint32_t warp = 0; warp < warps; ++warp) known_[warp][warp] = 1;
}

void VectorClocks::restart() {
  for (Clock& known : known_) known = times_;
  for (std::uint32_t warp = 0; warp < warps(); ++warp) tick(warp);
}

std::uint16_t VectorClocks::add_agent() {
  times_.push_back(0);
  for (Clock& known : known_) known.push_back(0);
  return static_cast<std::uint16_t>(times_.size() - 1);
}

void VectorClocks::release(std::uint32_t warp, Clock& into) {
  join(into, known_[warp]);
  tick(warp);
}

}  // namespace fa_tune::emulator
