#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>

namespace fa_tune::db {

struct Merged {
  std::int64_t runs = 0;    // of both
  std::int64_t trials = 0;  // of both
  // What is added to the numbers of the second one's runs and trials.
  std::int64_t runs_before = 0;
  std::int64_t trials_before = 0;
};

// Writes all rows of two databases into the new file `merged`. Those of the first keep their
// numbers; the second one's runs and trials come behind them, renumbered wherever they are named.
// Spaces, devices and sources that both have stand there once. Both are read as they stand at one
// moment; tables of a user's own are those of the first. Nothing if `stop` was set before the file
// had its name; then there is none. Throws UserError where one is not of the newest
// schema, else as backup_database does.
std::optional<Merged> merge_databases(const std::filesystem::path& first,
                                      const std::filesystem::path& second,
                                      const std::filesystem::path& merged,
                                      const std::atomic<bool>& stop);

}  // namespace fa_tune::db
