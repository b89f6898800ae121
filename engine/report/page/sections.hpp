#pragma once

#include <map>

#include "engine/report/page/page.hpp"
#include "engine/report/rows.hpp"
#include "engine/report/show.hpp"
#include "engine/search/analysis/insights.hpp"

namespace fa_tune::report {

// All that a run's page is made of.
struct RunFacts {
  db::RunRow run;
  std::vector<db::TrialRow> trials;  // by number
  // Of those that were timed, us by trial id; see screen_beside(), beside the winner.
  std::map<std::int64_t, double> screens;
  std::map<std::int64_t, RacedFinal> raced;  // by trial id
  std::vector<db::TrialRow> best;            // the first few, as Store::best orders them
  std::optional<db::TrialRow> winner;        // the first of these
  std::vector<LineageStep> line;             // the winner's, oldest first
  std::map<std::int64_t, std::vector<db::ParentRow>>
      parents;  // of the winner and all its ancestors
  std::vector<db::SessionRow> sessions;
  std::vector<db::ProfileRow> profiles;  // by trial and source
  std::optional<double> gained;          // percent_gained
  std::optional<db::PlainKernelRow> plain;
  PageExtras extras;

  const db::TrialRow* trial(std::int64_t id) const;
  const db::TrialRow* trial_of(const std::string& config_json) const;
  bool measured() const { return run.time_kind == "measured"; }
  // "5.39 us measured".
  std::string time_words(double us) const;
};

// Throws UserError where there is no such run.
RunFacts gather_facts(const db::Store& store, std::int64_t run, PageExtras extras);

// Times of two trials that were taken in the same way: their finals' if both have one, else their
// screens'. Nothing if there are none.
std::optional<std::pair<double, double>> comparable_times(const RunFacts& facts,
                                                          const db::TrialRow& one,
                                                          const db::TrialRow& other);

// The parts of a run's page, each a <section> of markup, or nothing where there is nothing to tell.
// Times of the two kinds are named wherever they stand.
std::string result_section(const RunFacts& facts);    // the winner, beside presets
std::string funnel_section(const RunFacts& facts);    // where trials ended
std::string progress_section(const RunFacts& facts);  // best so far, over trials and time
std::string lineage_section(const RunFacts& facts);   // how the winner came about
std::string effects_section(const RunFacts& facts, const search::Insights& insights);
std::string ablation_section(const RunFacts& facts);
std::string roofline_section(const RunFacts& facts);
std::string bottleneck_section(const RunFacts& facts);   // what profiles say of trials
std::string environment_section(const RunFacts& facts);  // what ran, how it was timed, what it cost

}  // namespace fa_tune::report
