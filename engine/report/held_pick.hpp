#pragma once

#include <compare>
#include <optional>
#include <string>

#include "db/store.hpp"
#include "engine/report/rows.hpp"

namespace fa_tune::report {

// A trial whose screen is further behind than this is slower for certain: finals leave it out.
inline constexpr double kScreensTell = 1.08;
// A final that takes this many times the best figure is as good: other things than time decide.
inline constexpr double kAsGood = 1.005;

// What one kernel is named for: a problem at a shape on a kind of device. A custom problem goes by
// its space, where what its kernels compute stands.
struct TuningKey {
  std::string problem;  // its kind, or "space NAME"
  std::string shape_json;
  std::string device_name;  // an emulator has another name than what it emulates

  friend auto operator<=>(const TuningKey&, const TuningKey&) = default;
};
TuningKey key_of(const db::RunRow& run);

// The kernel that a database names for a key: the stable_pick() of its first run that has one, until
// a later run proves another better. That is a race that says for certain that the pick takes more
// than kAsGood times the fastest's time; a screen so far behind that it was left out of the finals;
// or that it failed. A run that did not try it proves nothing, unless times are predicted, which
// compare without a race. So two tunings of one key name two kernels only where the second one is
// known to be faster. Nothing where no trial of the key passed.
std::optional<TrialOfRun> held_pick(const db::Store& store, const TuningKey& key);

}  // namespace fa_tune::report
