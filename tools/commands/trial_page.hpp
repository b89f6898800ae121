#pragma once

#include <string>

#include "db/store.hpp"
#include "tools/commands/command.hpp"

namespace fa_tune {

// A subcommand that prints one page about one trial of a database.
void add_trial_page(CLI::App& app, Action& action, const std::string& name, const std::string& help,
                    std::string (*text)(const Store& store, std::int64_t trial));

}  // namespace fa_tune
