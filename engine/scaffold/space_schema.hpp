#pragma once

#include <string>

namespace fa_tune::scaffold {

// The JSON Schema (draft-07) of a space's YAML, made from the tables that its readers use: for
// editors that complete and check. Of expressions it knows that they are text.
std::string space_schema();

}  // namespace fa_tune::scaffold
