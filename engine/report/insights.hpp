#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "engine/search/analysis/insights.hpp"

namespace fa_tune::report {

// What a stored run teaches, from its trials. Times are those of screens, at one clock
// (us_at_clock): a few finals beside them would compare two ways of measuring. A duplicate has the
// time of its original, and counts where trials are counted but not where times are compared.
search::Insights insights_of(const db::Store& store, std::int64_t run);

// Each insight in words and as a JSON object, as it is kept in the database. `time_kind` is the
// run's: a text about predicted times says so.
//   effect:      gene value against ratio n method p seen text
//   interaction: gene value against other_gene other_value other_against ratio n p seen text
//   failure:     gene value failed others stages p seen text
//   operator:    operation trials passed better cost_s gain_per_s text
// A ratio is {estimate, low, high} of times, below 1 where the first value is faster; failed,
// others, passed and better are {part, of, low, high}; intervals are 95%.
std::vector<db::InsightRow> insight_rows(const search::Insights& insights,
                                         const std::string& time_kind);

// What limited the trials of the run that were profiled, one line each, those of one kind of time
// together: Store::profiles. Nothing if none was.
std::vector<std::string> profile_lines(const std::vector<db::ProfileRow>& profiles);

// For a person: at most `limit` lines a kind, the most useful first.
std::string insights_text(const db::RunRow& run, const search::Insights& insights,
                          const std::vector<db::ProfileRow>& profiles, int limit);
// {"run","time_kind","trials","passed","effects":[],"interactions":[],"failures":[],"operators":[],
//  "profiles":[{"trial","source","device","time_kind","time_us","limit","because","at"}]}.
std::string insights_json(const db::RunRow& run, const search::Insights& insights,
                          const std::vector<db::ProfileRow>& profiles);

}  // namespace fa_tune::report
