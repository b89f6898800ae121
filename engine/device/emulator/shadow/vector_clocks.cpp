#include "engine/device/emulator/shadow/vector_clocks.hpp"

namespace fa_tune::emulator {
namespace {

void join_times(Times& into, const Times& from) {
  if (into.size() < from.size()) into.resize(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) into[i] = std::max(into[i], from[i]);
}

}  // namespace

void join(Clock& into, const Clock& from) {
  join_times(into.known, from.known);
  join_times(into.proxied, from.proxied);
}

VectorClocks::VectorClocks(std::uint32_t warps)
    : times_(warps, 1), clocks_(warps, Clock{Times(warps), Times(warps)}) {
  for (std::uint32_t warp = 0; warp < warps; ++warp) clocks_[warp].known[warp] = 1;
}

void VectorClocks::restart() {
  for (Clock& clock : clocks_) clock = {times_, times_};
  for (std::uint32_t warp = 0; warp < warps(); ++warp) tick(warp);
}

std::uint16_t VectorClocks::add_agent() {
  times_.push_back(0);
  for (Clock& clock : clocks_) {
    clock.known.push_back(0);
    clock.proxied.push_back(0);
  }
  return static_cast<std::uint16_t>(times_.size() - 1);
}

void VectorClocks::release(std::uint32_t warp, Clock& into) {
  join(into, clocks_[warp]);
  tick(warp);
}

void VectorClocks::fence_proxy(std::uint32_t warp) {
  clocks_[warp].proxied = clocks_[warp].known;
  tick(warp);
}

}  // namespace fa_tune::emulator
