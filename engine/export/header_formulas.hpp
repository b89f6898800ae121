#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/export/header_tables.hpp"

namespace fa_tune::exports {

// compute_AT(sizes, sized) of a header: what a call for any sizes launches at these, in the places
// of what its tables have for the sizes it was tuned at.
std::string header_formulas(const PackagedCall& call, const KernelImage& image, std::size_t at,
                            const HeaderNames& names);

}  // namespace fa_tune::exports
