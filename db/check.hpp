#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace fa_tune::db {

struct DatabaseReport {
  int schema = 0;         // of the file
  int newest_schema = 0;  // of this program
  std::int64_t runs = 0;
  std::int64_t trials = 0;
  std::int64_t samples = 0;  // series of them
  // What is wrong, a line each, and only the first few of a kind. None if the file is sound.
  std::vector<std::string> defects;
};

// Checks a whole file and changes nothing. It runs SQLite's own check of pages, indexes and
// constraints, then checks references, and then what holds in every database that this program
// wrote: numbers without gaps, parents before children within a run, figures that belong to their
// trial's outcome, sources that have the hash they are filed under. Throws as Store does for a file
// that cannot be opened at all.
DatabaseReport check_database(const std::filesystem::path& path);

}  // namespace fa_tune::db
