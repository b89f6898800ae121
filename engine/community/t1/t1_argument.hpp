#pragma once

#include <string>
#include <string_view>

#include "engine/yaml/yaml.hpp"

namespace fa_tune {

// What a T1 file says of one argument of its kernel, as a space of ours says it. Throws UserError
// with the place of what does not fit.

// The value of `key`, nothing where it is missing or null.
const YamlNode* t1_given(const YamlNode& map, std::string_view key);
// "f32" for float, float32 or float*.
std::string t1_type(const YamlNode& node);
// The text of a number of a type.
std::string t1_number(const YamlNode& node, const std::string& type);
// "{uniform: [0, 2]}": what an argument's FillType and FillValue ask for.
std::string t1_fill(const YamlNode& argument, const std::string& type);

}  // namespace fa_tune
