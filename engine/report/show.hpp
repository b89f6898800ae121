#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "db/store.hpp"

namespace fa_tune {

// All that is recorded of a trial, as a page of at most 100 columns; at the end what its run cost,
// in money too if a GPU hour has a price. Throws UserError for an unknown trial.
std::string show_text(const Store& store, std::int64_t trial,
                      std::optional<double> price = std::nullopt);

}  // namespace fa_tune
