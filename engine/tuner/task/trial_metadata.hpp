#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "engine/report/export.hpp"

namespace fa_tune {

// All that a trial's exported file says: what the store knows, and what its run's space and
// templates under `root` do. Throws UserError for a trial that is not there or not right.
ExportFacts trial_facts(const Store& store, std::int64_t trial, const std::filesystem::path& root,
                        const std::string& version);

}  // namespace fa_tune
