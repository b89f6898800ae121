#pragma once

#include <nlohmann/json_fwd.hpp>

#include "engine/yaml/form.hpp"

namespace fa_tune {

// The form as a JSON Schema (draft-07, which editors' YAML servers read).
nlohmann::ordered_json schema_of(const YamlForm& form);

}  // namespace fa_tune
