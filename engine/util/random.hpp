#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace fa_tune {

// A seeded generator whose stream is the same on every machine and compiler, so that a seed names a
// run. The standard library's distributions promise no such thing, hence those below.
// xoshiro256** 1.0 (Blackman and Vigna, 2018), seeded through SplitMix64.
class Random {
 public:
  explicit Random(std::uint64_t seed);

  std::uint64_t next();
  // Uniform over 0..bound-1, without modulo bias (Lemire 2019). bound must not be 0.
  std::uint64_t below(std::uint64_t bound);
  // Uniform over [0, 1) with 53 bits.
  double uniform();
  // Standard normal by Box-Muller; draws two uniforms each call and keeps no state between calls.
  double normal();

 private:
  std::uint64_t state_[4];
};

// A seed of its own for each purpose: mixes a run's seed with a name and a counter.
std::uint64_t derive_seed(std::uint64_t seed, std::string_view purpose, std::uint64_t counter = 0);

// Fills `values` with `spread` times standard normal values, for tensors of a hundred million
// elements: 65,536 values of equal odds, the normal distribution's quantiles at (i + 1/2) / 65536,
// four to a draw of the generator. They end at 4.3; a float of 16 bits tells fewer apart.
void fill_normal(Random& random, float spread, std::span<float> values);

}  // namespace fa_tune
