#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "engine/report/export.hpp"

namespace fa_tune::tuner {

// All that a trial's exported file says, from the store and from its run's space and templates
// under `root`. Throws UserError for a trial that is not there or did not pass.
report::ExportFacts trial_facts(const db::Store& store, std::int64_t trial,
                                const std::filesystem::path& root, const std::string& version);

}  // namespace fa_tune::tuner
