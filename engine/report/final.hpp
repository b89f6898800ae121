#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "db/store.hpp"

namespace fa_tune {

// How a trial did in its run's finals, beside those that it was raced with.
struct RacedFinal {
  FinalRow row;
  int of = 1;                           // so many ran
  std::vector<std::int64_t> tied_with;  // if it ties first: the others that do, by place
};

// By trial; empty for a run whose times are predicted, or that has had no finals yet.
std::map<std::int64_t, RacedFinal> raced_finals(const Store& store, std::int64_t run);
std::map<std::int64_t, RacedFinal> raced_finals(const std::vector<FinalRow>& finals);

// "tied with 2 others (trials 4, 7)", "faster than the 12 others", "1.0312 times the fastest's time
// [1.0290, 1.0335]", or what there is to say without a race.
std::string standing_text(const RacedFinal& raced);

// {"place","of","tied_with","ratio":{median,low,high},"blocks","detail","cold_us":{median,low,high,
// samples,detail} or null}: see migration final_races.
nlohmann::ordered_json final_json(const RacedFinal& raced);

}  // namespace fa_tune
