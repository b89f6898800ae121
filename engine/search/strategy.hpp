#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/space/space.hpp"

namespace fa_tune::search {

// A config to try and where it came from.
struct Proposal {
  Config config;
  std::string operation;               // "preset", "transfer", "random", "mutate", "crossover", ...
  std::vector<std::uint64_t> parents;  // trial numbers within the run, the first being the main one
};

// What became of a proposal. `number` counts a run's trials from 1 in the order they were asked
// for.
struct Evaluation {
  std::uint64_t number = 0;
  Config config;
  bool passed = false;            // passed the gate and was timed
  std::optional<double> time_us;  // present if passed; screens at one clock
  double cost_s = 0;              // spent on it: compiling, gate, clock; 0 where it was free
  std::uint64_t twin = 0;         // the earlier trial whose kernel it turned out to have; 0: none
};

// The trials of another run over the same parameters: another shape, another device, or the same
// ones on another day. Its times rank configs among themselves and are never compared with ours.
struct PriorTrials {
  std::string title;  // for people: "run 3: L4, B=1 H=8 L=512 D=64"
  std::vector<Evaluation> trials;
  // The kernel that the run is known for, which is tried again whatever the others' times.
  std::optional<Config> pick = {};
};

// What a strategy is given to work on. The space must outlive it.
struct SearchTask {
  const space::Space& space;
  std::uint64_t seed = 1;
  std::vector<PriorTrials> earlier = {};  // none: a cold start
};

// Decides what to try next. A strategy is a pure function of its seed and what it was told: given
// the same tells in the same order it asks for the same configs, so a run is resumed by telling it
// the stored trials again. It never proposes a config twice in a run.
class Strategy {
 public:
  virtual ~Strategy() = default;
  virtual std::string name() const = 0;
  // Whether what it is told changes what it asks for: if not, it may be asked as far ahead as a
  // machine has room.
  virtual bool learns() const { return true; }
  // Up to n proposals; fewer, or none, only when the space is used up. Every proposal is told, in
  // order; more may be asked for before that.
  virtual std::vector<Proposal> ask(int n) = 0;
  virtual void tell(const Evaluation& told) = 0;
  // Somebody else tries this valid config in the same run: it is not to be proposed any more. What
  // becomes of it is told like the rest.
  virtual void take(const Config& config) = 0;
};

}  // namespace fa_tune::search
