#pragma once

#include "engine/kernel/template/template.hpp"
#include "engine/problem/problem.hpp"
#include "engine/report/export.hpp"

namespace fa_tune::tuner {

// Adds how a config's kernels are launched, with the arguments of each in its order and what a host
// passes for them. `scope` holds the constants that the template's expressions may use at `shape`.
void add_launch(const kernel::Template& from, const problem::Problem& problem,
                const Constants& shape, const Constants& scope, report::ExportFacts& facts);

}  // namespace fa_tune::tuner
