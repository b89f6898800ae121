#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/commands/filters.hpp"

namespace fa_tune {

// The number of a trial from a command line. Throws UserError.
std::int64_t trial_number(const std::string& text);

// `export --as header|ptx|torch`: `kernels` are trials or exported files; none stands for the best
// trial of each shape and device that the filters leave, and for ptx for the best of all.
int export_package(const Filters& filters, const std::vector<std::string>& kernels,
                   const std::string& form, const std::string& out);

}  // namespace fa_tune
