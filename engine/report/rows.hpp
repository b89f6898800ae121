#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "db/store.hpp"
#include "engine/report/prediction.hpp"
#include "engine/yaml/value.hpp"

namespace fa_tune::report {

// What a trial's kernel costs of a GPU, and then its genes in the space's order: of two kernels that are equally
// fast the lesser is preferred, by every run alike.
struct Frugality {
  int registers = 0;
  int shared_bytes = 0;
  std::vector<std::pair<std::string, Value>> genes;

  friend auto operator<=>(const Frugality&, const Frugality&) = default;
};
Frugality frugality(const db::TrialRow& trial);

// How a trial did in its run's finals, beside those that it was raced with.
struct RacedFinal {
  db::FinalRow row;
  int of = 1;                           // how many ran
  std::vector<std::int64_t> tied_with;  // if it ties first: the others that do, by place
};

// By trial; empty for a run whose times are predicted, or that has had no finals yet.
std::map<std::int64_t, RacedFinal> raced_finals(const db::Store& store, std::int64_t run);
std::map<std::int64_t, RacedFinal> raced_finals(const std::vector<db::FinalRow>& all);

// "tied with 2 others (trials 4, 7)", "faster than the 12 others", "1.0312 times the fastest's time
// [1.0290, 1.0335]", or what there is to say without a race.
std::string standing_text(const RacedFinal& raced);

// {"place","of","tied_with","ratio":{median,low,high},"blocks","detail","cold_us":{median,low,high,
// samples,detail} or null}: see migration final_races.
nlohmann::ordered_json final_json(const RacedFinal& raced);

// A trial with the run it belongs to: what most reports speak of.
struct TrialOfRun {
  db::TrialRow trial;
  db::RunRow run;
  std::optional<RacedFinal> raced = {};
  std::optional<db::PlainKernelRow> plain = {};  // the run's
  std::optional<PredictedTies> ties = {};        // of a run's best, as far as one is asked for
};

// The figure that a trial is shown with, beside its stage: that of its finals where there is one.
// For a reader alone: what is compared is compared by screens or by finals.
std::optional<Interval> shown_time(const db::TrialRow& trial);
std::optional<double> shown_us(const db::TrialRow& trial);

// The plain kernel's time over a trial's, both of screens, at one clock; nothing where one was not
// timed.
std::optional<double> times_as_fast(const db::TrialRow& trial, const db::PlainKernelRow& plain);
// "2.80x the plain kernel, which takes 45.20 us predicted", or why that is not known.
std::string beside_plain(const db::TrialRow& trial, const db::PlainKernelRow& plain,
                         const std::string& time_kind);

// What a gate that passed the trial did not look at, which finals do; empty if there is nothing.
std::string left_open(const db::TrialRow& trial);

// What its screen would have said at a clock of `mhz`: see us_at_clock().
std::optional<double> screen_at_clock(const db::TrialRow& trial, double mhz);

// Throws UserError where there is no such trial.
TrialOfRun require_trial(const db::Store& store, std::int64_t trial);

// A shape as it is kept, {"B":1,...}. Throws UserError for text of another form.
Constants shape_of(const std::string& json);

// "l4: attention B=1 D=64 on NVIDIA L4 (cuda:0, sm_89), measured times".
std::string context_text(const db::RunRow& run);

}  // namespace fa_tune::report
