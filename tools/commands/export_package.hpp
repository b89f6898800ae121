#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/commands/filters.hpp"

namespace fa_tune {

// The number of a trial from a command line. Throws UserError.
std::int64_t trial_number(const std::string& text);

// What leaves together, as `export --as header|ptx|torch` is asked for it.
struct PackageWishes {
  std::vector<std::string> kernels;  // trials or exported files
  std::string portfolio;             // or: a file that `portfolio --out` wrote
  std::string form;
  std::string out;
};

// Where neither kernels nor a portfolio are named: the best trial of each shape and device that the
// filters leave; for ptx the best of all.
int export_package(const Filters& filters, const PackageWishes& wishes);

}  // namespace fa_tune
