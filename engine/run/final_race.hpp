#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/kernel/compiler.hpp"
#include "engine/measure/sampler.hpp"
#include "engine/run/project.hpp"

namespace fa_tune {

// A finalist that went wrong in the race, although it had been judged right.
struct RaceRefusal {
  std::size_t finalist = 0;
  std::string finding;
  std::string message;
};

struct FinalRace {
  bool lost = false;  // the device is; the rest says nothing then
  std::vector<RaceRefusal> refused;
  // Who ran to the end, as `race` numbers them; none if fewer than two could, or no block was good.
  std::vector<std::size_t> ran;
  LaunchRace race;
};

// Races finalists on a device that measures: all kernels loaded at once, with one set of inputs
// (another than trials and judges had, at another place in memory), in interleaved blocks beside
// `baseline`, which is one of them. Who ends the process it runs in, twice, or faults is refused
// and the others race again. Of `rules` the seed is another, drawn from `seed`.
FinalRace race_finalists(const Project& project, Device& device, CompilePool& pool,
                         const std::vector<Config>& finalists, std::size_t baseline,
                         std::uint64_t seed, const RaceOptions& rules = {});

}  // namespace fa_tune
