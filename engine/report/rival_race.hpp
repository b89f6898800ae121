#pragma once

#include <string>
#include <vector>

#include "engine/yaml/value.hpp"

namespace fa_tune {

// Another's kernel beside fa-tune's, both timed in one race.
struct Rival {
  std::string name;
  double us = 0;
  double factor = 1;  // its time over fa-tune's, taken block by block
  double low = 1, high = 1;
};

// A race of an exported kernel beside what others make of the same problem, in a process of theirs:
// what tools/bench/sdpa.py and tools/bench/examples write.
struct RivalRace {
  Config config;  // of fa-tune's kernel
  double us = 0;  // its time there
  std::vector<Rival> rivals;
  std::string device;
  std::string software;
  std::string date;
  std::string method;
};

// Throws UserError, which names `file`, for a text that is none.
RivalRace read_rival_race(const std::string& text, const std::string& file);

}  // namespace fa_tune
