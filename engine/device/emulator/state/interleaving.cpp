#include "engine/device/emulator/state/interleaving.hpp"

namespace fa_tune::emulator {
namespace {

constexpr std::uint64_t kPlainTurn = 1 << 20;
constexpr std::uint64_t kAllEarly = 1;
constexpr std::uint64_t kAllLate = 2;

// SplitMix64 (Steele, Lea, Flood 2014): one step, and the mixing of its state.
constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;

std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

}  // namespace

Interleaving::Interleaving(std::uint64_t number, std::uint64_t cluster)
    : number_(number), state_(mixed(number * kStep) ^ mixed(cluster + kStep)) {}

std::uint64_t Interleaving::draw() {
  state_ += kStep;
  return mixed(state_);
}

std::uint32_t Interleaving::below(std::uint32_t n) {
  return static_cast<std::uint32_t>((draw() >> 32) * n >> 32);
}

bool Interleaving::early() {
  if (number_ == kAllEarly) return true;
  if (number_ == 0 || number_ == kAllLate) return false;
  return (draw() >> 63) != 0;
}

// Mostly short, so that warps overtake each other everywhere; sometimes long, so that one runs far
// ahead.
std::uint64_t Interleaving::turn() {
  if (number_ == 0) return kPlainTurn;
  const std::uint64_t drawn = draw();
  return 1 + (drawn >> 32) % ((drawn & 7) == 0 ? 4096 : 64);
}

std::uint64_t Interleaving::block_turn() {
  const std::uint64_t drawn = draw();
  return 1 + (drawn >> 32) % ((drawn & 3) == 0 ? 16384 : 256);
}

}  // namespace fa_tune::emulator
