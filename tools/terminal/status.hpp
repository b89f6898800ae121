#pragma once

#include <optional>
#include <string>

#include "tools/terminal/line.hpp"

namespace fa_tune::terminal {

// How a run stands, for the one line that a terminal has for it.
struct RunStatus {
  int trials = 0;
  int passed = 0;
  int failed = 0;
  int duplicate = 0;
  std::optional<int> of;  // trials of the budget
  std::optional<double> best_us;
  std::string kind;                 // of its time: measured or predicted
  std::optional<double> beside_us;  // what it is compared with,
  std::string beside;               // and what that is
  double seconds = 0;               // of the search so far
  std::optional<double> left_s;
  // Of nodes, where the search has any: how many are there, with how many devices, and how many
  // devices were lost.
  int nodes = 0;
  int devices = 0;
  int lost = 0;
  // What the run waits for: compilers, the device, ...
  std::string waits_for;
  double waits_s = 0;
  // A step of the finals, where they are held: "gate", "race", ...
  struct Step {
    std::string name;
    int done = 0;
    int of = 0;
  };
  std::optional<Step> step;
};

// What of it fits into `columns`: what matters least is left out first.
Line status_line(const RunStatus& status, std::size_t columns);

}  // namespace fa_tune::terminal
