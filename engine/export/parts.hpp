#pragma once

#include <string_view>

namespace fa_tune {

// What every export of a form has in common, as it stands in python/ and cxx/: code that works on
// the figures that stand before it in the file.
std::string_view python_driver_part();
std::string_view python_attention_part();
std::string_view python_function_part();
std::string_view cxx_launch_part();

}  // namespace fa_tune
