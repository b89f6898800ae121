#pragma once

#include <cstdint>
#include <string>

#include "db/store.hpp"

namespace fa_tune {

// All that is recorded of a trial, as a page of at most 100 columns. Throws UserError for an
// unknown trial.
std::string show_text(const Store& store, std::int64_t trial);

}  // namespace fa_tune
