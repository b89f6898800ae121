#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/space/space.hpp"

namespace fa_tune {

// A config to try and where it came from.
struct Proposal {
  Config config;
  std::string operation;               // "preset", "random", "mutate", "crossover", "repair"
  std::vector<std::uint64_t> parents;  // trial numbers within the run, the first being the main one
};

// What became of a proposal. `number` counts a run's trials from 1 in the order they were asked
// for.
struct Told {
  std::uint64_t number = 0;
  Config config;
  bool right = false;             // passed the gate and was timed
  std::optional<double> time_us;  // present if right
};

// Decides what to try next. A strategy is a pure function of its seed and what it was told: given
// the same tells in the same order it asks for the same configs, so a run is resumed by telling it
// the stored trials again. It never proposes a config twice in a run.
class Strategy {
 public:
  virtual ~Strategy() = default;
  virtual std::string name() const = 0;
  // Up to n proposals; fewer, or none, only when the space is used up. Every proposal of an ask is
  // told, in order, before the next ask.
  virtual std::vector<Proposal> ask(int n) = 0;
  virtual void tell(const Told& told) = 0;
};

// "evolve" or "random". Throws UserError for another name, listing the known ones.
std::unique_ptr<Strategy> make_strategy(const std::string& name, const Space& space,
                                        std::uint64_t seed);
std::vector<std::string> strategy_names();

}  // namespace fa_tune
