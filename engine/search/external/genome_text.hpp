#pragma once

#include <expected>
#include <string>

#include "engine/space/space.hpp"

namespace fa_tune {

// A valid config from a stranger's flat JSON object. Parameters may stand in any order, and values
// of those that do not exist in this config are left out, so that a stranger need not understand
// `when`. The error says in a line why it is no valid config; a value of another type counts as
// another value.
std::expected<Config, std::string> read_genome(const Space& space, const std::string& json);

}  // namespace fa_tune
