#pragma once

#include <string>

#include "db/store.hpp"
#include "engine/run/evolve.hpp"
#include "engine/run/project.hpp"

namespace fa_tune {

// What a run came to, for a person: the best kernel beside every preset, and the commands that lead
// on. `db` is the database's path as the user typed it.
std::string summarize(const Project& project, const Store& store, const EvolveResult& result,
                      const std::string& db);

}  // namespace fa_tune
