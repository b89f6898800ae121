#pragma once

#include <vector>

#include "engine/search/analysis/matched_pairs.hpp"

namespace fa_tune::search {

// What a value does instead of the gene's most used one, by a linear model of the figure in which
// every value of every gene adds its own amount. `from` of the contrast is always the most used one
// here, whichever code is smaller.
struct MainEffect {
  Contrast contrast;
  double amount = 0;
  double low = 0;  // 95%
  double high = 0;
  double p = 1;
  int used = 0;  // configs with either value
};

// Ordinary least squares; errors by HC3 (MacKinnon and White 1985), which stays honest where genes
// act on one another and where errors differ in size; Student's t. A value is left out if it or the
// most used one has fewer than kFewestUses configs, or if its amount cannot be told from those of
// other genes or rests on a config that nothing else speaks of; all are, if fewer than
// kSpareConfigs are left over after the fit. All codes of one length; kAbsent counts as a value of
// its own but no effect of it is given.
//
// Weaker than matched configs: it takes effects to add up, and a search that tries some values
// mostly together with good company flatters them.
inline constexpr int kFewestUses = 6;
inline constexpr int kSpareConfigs = 10;
std::vector<MainEffect> main_effects(const std::vector<Codes>& configs,
                                     const std::vector<double>& figures);

}  // namespace fa_tune::search
