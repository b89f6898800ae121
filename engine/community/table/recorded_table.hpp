#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/space/genome.hpp"
#include "engine/space/space.hpp"

namespace fa_tune::community {

// Why a recorded config has no time.
enum class Failure : std::uint8_t {
  none,
  invalid,  // refused before it was compiled
  compile,
  runtime,
  wrong,  // ran, and gave a wrong answer
  other,  // the file does not say
};

// What a recorded config cost and gave. All times in ms, as in the files.
struct TableEntry {
  space::Genome genome;
  std::string key;                // the config as the file names it: its values joined by commas
  std::optional<double> time_ms;  // present if it ran and passed
  double cost_ms = 0;             // compiling + verification + benchmark: what trying it takes
  Failure failure = Failure::none;
  // A hash of the time's samples, 0 where there are too few to tell kernels apart: who has the
  // same ones was not run, because its kernel had been.
  std::size_t samples = 0;
};

// A recorded search: every config that was tried, with its time. Read from a Kernel Tuner cachefile
// or from a T4 file (read_table), it stands in for a GPU when a strategy is replayed.
struct RecordedTable {
  std::string name;    // the file's, without folder and endings: "pnpoly_RTX_3090"
  std::string kernel;  // as the file says, may be empty
  std::string device;
  std::vector<space::Parameter> parameters;  // values in the file's order, without `when`
  std::vector<TableEntry> entries;           // by genome in lexicographic order, none twice
  bool has_costs = true;                     // false: the file has none, and each config costs 1 ms
  bool cut = false;  // the file ended early: entries holds those that were whole

  // A space with the recorded configs, those that failed included, and no others.
  space::Space space() const;
  // The entry of a genome of space(), or nullptr.
  const TableEntry* find(const space::Genome& genome) const;
};

// Plain or gzip. Throws UserError: cannot be read, not one of the two formats, without one entry,
// an objective without times. What a file that was cut short holds in whole entries is kept.
RecordedTable read_table(const std::filesystem::path& path);
// The same from text; `path` names the table and stands in messages.
RecordedTable parse_table(std::string_view text, const std::filesystem::path& path);

}  // namespace fa_tune::community
