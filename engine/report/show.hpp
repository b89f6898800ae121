#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "db/store.hpp"

namespace fa_tune::report {

// All that is recorded of a trial, as a page of at most 100 columns; at the end what its run cost,
// in money too if a GPU hour has a price. Throws UserError for an unknown trial.
std::string show_text(const db::Store& store, std::int64_t trial,
                      std::optional<double> price = std::nullopt);

// One step of an ancestry: a trial and how it came from its parents.
struct LineageStep {
  db::TrialRow trial;
  std::vector<db::ParentRow> parents;  // the main one first; none at the root
};

// The main line from the root to `trial`, oldest first. Throws UserError for an unknown trial.
std::vector<LineageStep> main_line(const db::Store& store, std::int64_t trial);

// A trial's screen, in us; as if at the clock of `beside`'s screen, where both are known, since a
// GPU's clock wanders between them. Nothing if it has none.
std::optional<double> screen_beside(const db::TrialRow& trial, const db::TrialRow& beside);

// That line as a page: trial, operator, genes changed, screen, gain against the main parent, and
// what it all brought. Other parents stand with the genes they gave. Screens throughout: finals are
// another measurement, and few have them.
std::string lineage_text(const db::Store& store, std::int64_t trial);

}  // namespace fa_tune::report
