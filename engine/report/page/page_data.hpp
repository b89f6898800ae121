#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "db/store.hpp"
#include "engine/report/ablation.hpp"
#include "engine/report/final.hpp"
#include "engine/report/lineage.hpp"
#include "engine/report/rival_race.hpp"

namespace fa_tune {

// What a device can do at most and what the timed shape needs at least.
struct RoofFacts {
  double flop = 0;
  double bytes = 0;        // compulsory
  double flop_per_us = 0;  // of the tensor cores
  double l2_bytes_per_us = 0;
  double dram_bytes_per_us = 0;
  std::string source;  // "profile h100, 132 SMs"
};

// What a page tells that the database does not hold.
struct PageExtras {
  std::vector<std::pair<std::string, std::string>> presets;  // name, config as JSON; baseline first
  std::optional<RoofFacts> roof;
  std::optional<Ablation> ablation;
  std::optional<RivalRace> beside;  // of one of the run's trials
  std::optional<double> price;      // of a GPU hour
};

// All that a run's page is made of.
struct RunFacts {
  RunRow run;
  std::vector<TrialRow> trials;  // by number
  // Of those that were timed, us by trial id; see screen_beside(), beside the winner.
  std::map<std::int64_t, double> screens;
  std::map<std::int64_t, RacedFinal> raced;  // by trial id
  std::vector<TrialRow> best;                // the first few, as Store::best orders them
  std::optional<TrialRow> winner;            // the first of these
  std::vector<LineageStep> line;             // the winner's, oldest first
  std::map<std::int64_t, std::vector<ParentRow>> parents;  // of the winner and all its ancestors
  std::vector<SessionRow> sessions;
  std::vector<ProfileRow> profiles;  // by trial and source
  std::optional<double> gained;      // percent_gained
  PageExtras extras;

  const TrialRow* trial(std::int64_t id) const;
  const TrialRow* trial_of(const std::string& config_json) const;
  bool measured() const { return run.time_kind == "measured"; }
  // "5.39 us measured".
  std::string time_words(double us) const;
};

// Throws UserError where there is no such run.
RunFacts gather_facts(const Store& store, std::int64_t run, PageExtras extras);

// Times of two trials that were taken in the same way: their finals' if both have one, else their
// screens'. Nothing if there are none.
std::optional<std::pair<double, double>> comparable_times(const RunFacts& facts,
                                                          const TrialRow& one,
                                                          const TrialRow& other);

}  // namespace fa_tune
