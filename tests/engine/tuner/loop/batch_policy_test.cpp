#include <doctest/doctest.h>

#include "engine/tuner/loop/run_options.hpp"

namespace fa_tune::test {

using namespace fa_tune::tuner;

TEST_CASE(
    "on GPUs enough trials are under way for compilers and devices, on the emulator the same "
    "everywhere") {
  const auto policy = [](bool learns, const Capacity& capacity) {
    const BatchPolicy chosen = choose_batch_policy(learns, capacity);
    return std::pair(chosen.generation, chosen.ahead);
  };
  CHECK(policy(true, {}) == std::pair(4, 3));
  CHECK(policy(true, {.compilers = 64, .devices = 8}) == std::pair(4, 3));
  CHECK(policy(false, {}) == std::pair(4, 31));

  CHECK(policy(true, {.compilers = 2, .devices = 1, .measures = true}) == std::pair(4, 3));
  CHECK(policy(true, {.compilers = 16, .devices = 1, .measures = true}) == std::pair(4, 9));
  CHECK(policy(true, {.compilers = 32, .devices = 2, .measures = true}) == std::pair(4, 19));
  // Told in generations of a 16th, where there are many.
  CHECK(policy(true, {.compilers = 1024, .devices = 1024, .measures = true}) == std::pair(640, 15));
  // At most an eighth of the budget, and never fewer than on the emulator.
  CHECK(policy(true, {.compilers = 32, .devices = 2, .measures = true, .trials = 240}) ==
        std::pair(4, 7));
  CHECK(policy(true, {.compilers = 32, .devices = 2, .measures = true, .trials = 20}) ==
        std::pair(4, 3));
  CHECK(policy(false, {.compilers = 256, .devices = 8, .measures = true}).first == 36);
}

}  // namespace fa_tune::test
