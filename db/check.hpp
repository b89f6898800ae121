#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace fa_tune {

struct DatabaseReport {
  int schema = 0;         // that of the file
  int newest_schema = 0;  // that of this program
  std::int64_t runs = 0;
  std::int64_t trials = 0;
  std::int64_t samples = 0;  // series
  // What is wrong, a line each, the first few of a kind; none: the file is sound.
  std::vector<std::string> defects;
};

// Reads the whole file and changes nothing: SQLite's own check of pages, indexes and constraints,
// references, and what holds in every database that this program wrote: numbers without gaps,
// parents before children within a run, figures that belong to their trial's outcome, sources that
// have the hash they are filed under. Throws as Store does for a file that cannot be opened at all.
DatabaseReport check_database(const std::filesystem::path& path);

}  // namespace fa_tune
