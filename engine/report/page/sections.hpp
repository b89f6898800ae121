#pragma once

#include <string>

#include "engine/report/page/page_data.hpp"
#include "engine/search/analysis/insights.hpp"

namespace fa_tune {

// The parts of a run's page, each a <section> of markup, or nothing where there is nothing to tell.
// Times of the two kinds are named wherever they stand.
std::string result_section(const RunFacts& facts);    // the winner, beside presets
std::string funnel_section(const RunFacts& facts);    // where trials ended
std::string progress_section(const RunFacts& facts);  // best so far, over trials and time
std::string lineage_section(const RunFacts& facts);   // how the winner came about
std::string effects_section(const RunFacts& facts, const Insights& insights);
std::string ablation_section(const RunFacts& facts);
std::string roofline_section(const RunFacts& facts);
std::string bottleneck_section(const RunFacts& facts);   // what profiles say of trials
std::string environment_section(const RunFacts& facts);  // what ran, how it was timed, what it cost

// What they are put together with.
std::string section(const std::string& id, const std::string& title, const std::string& body);
// A drawing with what one sees in it, in words.
std::string figure(const std::string& drawing, const std::string& caption);
// Rows of cells that are text; the first row is the heads. Columns from the second on are figures.
std::string table_markup(const std::vector<std::vector<std::string>>& rows);

}  // namespace fa_tune
