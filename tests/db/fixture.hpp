#pragma once

#include <filesystem>
#include <string>

#include "db/store.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

db::RunRow a_run();
// A screened trial that passed, with a config that no other number has.
db::TrialRow a_trial(std::int64_t run, std::int64_t number, double time_us);

// A database as the first release left it: one run, one trial.
void make_first_schema(const std::filesystem::path& path);

// One value of a query on a connection of its own.
std::string ask(const std::filesystem::path& database, const std::string& sql);
void change(const std::filesystem::path& database, const std::string& sql);

}  // namespace fa_tune::test
