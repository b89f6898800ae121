#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fa_tune::scaffold {

// What people's names for parameters and arguments say of their values.

struct GuessedValues {
  std::string name;
  std::vector<std::int64_t> values;
};

// A default for a parameter that has none.
std::int64_t usual_value(const std::string& name);
// Values to try around a default, itself among them; it alone where others may change the result.
std::vector<std::int64_t> values_around(const std::string& name, std::int64_t otherwise);
// A value for a scalar argument, as YAML.
std::string usual_scalar(const std::string& name, const std::string& type);

}  // namespace fa_tune::scaffold
