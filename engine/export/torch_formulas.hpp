#pragma once

#include <cstddef>
#include <string>

#include "engine/export/package.hpp"

namespace fa_tune::exports {

// _sized_AT of a module: what a call for any sizes launches at these, and what must hold of them.
// Throws UserError where no tensor shows one of the sizes.
std::string torch_formulas(const PackagedCall& call, std::size_t at);

}  // namespace fa_tune::exports
