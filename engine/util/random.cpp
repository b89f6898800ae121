#include "engine/util/random.hpp"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <vector>

#include "engine/util/distributions.hpp"

namespace fa_tune {
namespace {

std::uint64_t split_mix(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15ULL;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace

Random::Random(std::uint64_t seed) : state_{} {
  for (std::uint64_t& word : state_) word = split_mix(seed);
}

std::uint64_t Random::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

std::uint64_t Random::below(std::uint64_t bound) {
  __extension__ using Wide = unsigned __int128;
  Wide product = static_cast<Wide>(next()) * bound;
  if (static_cast<std::uint64_t>(product) < bound) {
    const std::uint64_t threshold = (0 - bound) % bound;
    while (static_cast<std::uint64_t>(product) < threshold)
      product = static_cast<Wide>(next()) * bound;
  }
  return static_cast<std::uint64_t>(product >> 64);
}

double Random::uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

double Random::normal() {
  const double u = 1.0 - uniform();  // in (0, 1], so that the logarithm is finite
  const double v = uniform();
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
}

std::uint64_t derive_seed(std::uint64_t seed, std::string_view purpose, std::uint64_t counter) {
  std::uint64_t hash = 0xcbf29ce484222325ULL ^ seed;  // FNV-1a over the name, then SplitMix64
  for (const char c : purpose) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  hash ^= counter * 0x9e3779b97f4a7c15ULL;
  return split_mix(hash);
}

namespace {

constexpr std::size_t kQuantiles = 65536;

std::vector<float> make_quantiles() {
  std::vector<float> made(kQuantiles);
  for (std::size_t i = kQuantiles / 2; i < kQuantiles; ++i) {
    const double above = (static_cast<double>(kQuantiles - i) - 0.5) / kQuantiles;
    made[i] = static_cast<float>(normal_quantile(above));
    made[kQuantiles - 1 - i] = -made[i];
  }
  return made;
}

}  // namespace

void fill_normal(Random& random, float spread, std::span<float> values) {
  static const std::vector<float> quantiles = make_quantiles();
  for (std::size_t i = 0; i < values.size();) {
    std::uint64_t bits = random.next();
    for (int part = 0; part < 4 && i < values.size(); ++part, bits >>= 16)
      values[i++] = spread * quantiles[bits & 0xffff];
  }
}

}  // namespace fa_tune
