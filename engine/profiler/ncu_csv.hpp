#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fa_tune {

// What Nsight Compute told of one kernel.
struct NcuReport {
  struct Metric {
    std::string name;
    std::string unit;  // "%", "ns", ...; may be empty
    double value = 0;
  };
  std::vector<Metric> metrics;  // those that it has a number for

  const Metric* find(std::string_view name) const;
  std::optional<double> value(std::string_view name) const;
};

// Reads what `ncu --csv --page raw` writes on standard output, other lines (==PROF== and the
// program's own) before and behind it included. Two forms are known: a column a metric, with a row
// of units under the heads, and a row a metric. Numbers may have commas between thousands;
// "n/a", nothing, and what is not finite stand for a metric that there is not.
//
// Throws MachineError, in one line, where there is no such table, more or less than one kernel in
// it, or what is no number.
NcuReport parse_ncu_csv(std::string_view output, std::span<const std::string> wanted);

}  // namespace fa_tune
