#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "db/store.hpp"

namespace fa_tune::report {

// How a run stands at one moment, or stood when it ended: what `fa-tune status` tells.
struct RunOverview {
  using Instant = std::chrono::system_clock::time_point;

  struct Device {
    std::string name;   // as trials have it: "n1/cuda:0"
    std::string node;   // "n1"; empty for one of the engine's own machine
    std::string state;  // "working", "idle", "lost", "retired"; "gone" where nobody wrote of it
    std::string does;   // "trial 12", where it works
    std::string why;    // it is lost or retired
    std::optional<double> since_s;  // ago
    int trials = 0;                 // of this run, that ran there
  };
  struct Step {
    std::string name;
    int done = 0;
    int of = 0;
  };

  db::RunRow run;
  std::string standing;  // Store::standing: "running (process 4711)", "killed", ...
  bool runs = false;
  std::string phase;         // "search", "finals", "over"; empty in a run that is older than this
  std::string waits_for;     // what the run has to wait for
  std::optional<Step> step;  // of the finals
  std::optional<int> budget_trials;
  std::optional<double> budget_seconds;
  int passed = 0;
  int failed = 0;
  int duplicate = 0;
  double seconds = 0;                // of the search, earlier sessions included
  std::optional<double> per_second;  // trials, over all of it
  std::optional<double> recently;    // in the last minute
  std::optional<double> left_s;      // of the search
  std::optional<db::TrialRow> best;
  std::vector<Device> devices;

  int trials() const { return passed + failed + duplicate; }
  int count(const std::string& state) const;
};

// Throws UserError for a row that no fa-tune wrote.
RunOverview run_overview(const db::Store& store, const db::RunRow& run, RunOverview::Instant now);

std::string overview_text(const RunOverview& overview, const std::string& db);
std::string overview_json(const RunOverview& overview);

// What is left of a budget after this number of trials and seconds; nothing where there is no end.
std::optional<double> seconds_left(std::optional<int> budget_trials,
                                   std::optional<double> budget_seconds, int trials,
                                   double seconds);

}  // namespace fa_tune::report
