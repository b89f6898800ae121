#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "db/store.hpp"

namespace fa_tune::report {

// Trials of one run that failed at the same stage for the same reason.
struct FailureGroup {
  std::string stage;
  std::string finding;
  std::size_t count = 0;
  // The first trial of those that say what most of the group say, numbers apart.
  std::int64_t example = 0;
  std::string message;  // of that trial
};

// The reasons why trials of a run failed, the commonest first; empty if none did.
std::vector<FailureGroup> failure_groups(const std::vector<db::TrialRow>& trials);

// For a person: a table of all reasons, and how to see a trial of them.
std::string failures_text(const db::RunRow& run, std::size_t trials,
                          const std::vector<FailureGroup>& groups, const std::string& db);

// {"run","trials","failed","reasons":[{"stage","finding","count","example","message"}]}; stable.
std::string failures_json(const db::RunRow& run, std::size_t trials,
                          const std::vector<FailureGroup>& groups);

// For the end of a run: the two commonest reasons in a few lines, and the command for the rest;
// empty if no trial failed.
std::string common_failures(const db::RunRow& run, std::size_t trials,
                            const std::vector<FailureGroup>& groups, const std::string& db);

}  // namespace fa_tune::report
