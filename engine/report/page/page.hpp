#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "db/store.hpp"
#include "engine/report/ablation.hpp"

namespace fa_tune::report {

// Another's kernel beside fa-tune's, both timed in one race.
struct Rival {
  std::string name;
  double us = 0;
  double factor = 1;  // its time over fa-tune's, taken block by block
  double low = 1, high = 1;
};

// A race of an exported kernel beside what others make of the same problem, in a process of theirs:
// what tools/bench/attention/sdpa.py and tools/bench/rivals/examples write.
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

// What a device can do at most and what the timed shape needs at least.
struct RoofFacts {
  double flop = 0;
  double bytes = 0;        // compulsory
  double flop_per_us = 0;  // of the tensor cores
  double l2_bytes_per_us = 0;
  double dram_bytes_per_us = 0;
  std::string source;  // "profile h100, 132 SMs"
};

// What a page tells that the database does not hold.
struct PageExtras {
  std::vector<std::pair<std::string, std::string>> presets;  // name, config as JSON; baseline first
  std::optional<RoofFacts> roof;
  std::optional<Ablation> ablation;
  std::optional<RivalRace> beside;  // of one of the run's trials
  std::optional<double> price;      // of a GPU hour
};

// A run as one HTML file that needs nothing beside it: no script, no network, no font; light or
// dark as its reader has it, down to the width of a phone. It is well-formed XML too. All text of
// the database is escaped. The same rows give the same bytes. Throws UserError where there is no
// such run.
std::string run_page(const db::Store& store, std::int64_t run, PageExtras extras);

}  // namespace fa_tune::report
