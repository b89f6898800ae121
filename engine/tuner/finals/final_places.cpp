#include "engine/tuner/finals/final_places.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include <nlohmann/json.hpp>

#include "engine/measure/timing.hpp"
#include "engine/report/held_pick.hpp"
#include "engine/report/rows.hpp"

namespace fa_tune::tuner {

std::vector<db::FinalRow> final_places(const std::vector<db::TrialRow>& trials,
                                       const FinalRace& race) {
  struct Entry {
    db::FinalRow row;
    const db::TrialRow* trial = nullptr;
  };
  const measure::RaceResult& result = race.race.result;
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < race.ran.size(); ++i) {
    const measure::RaceStanding& standing = result.standings[i];
    Entry entry;
    entry.trial = &trials[race.ran[i]];
    entry.row.trial = entry.trial->id;
    entry.row.time = {standing.time_us};
    entry.row.samples_us = race.race.timings[i].samples_us;
    auto detail = nlohmann::ordered_json::parse(measure::detail_json_of(race.race.timings[i]));
    detail["processes"] = race.processes;
    entry.row.detail_json = detail.dump();
    entry.row.blocks = standing.blocks;
    entry.row.ratio = standing.to_winner;
    entries.push_back(std::move(entry));
  }
  double first_us = HUGE_VAL;
  for (const std::size_t i : result.tied_first()) {
    entries[i].row.tied_first = true;
    first_us = std::min(first_us, entries[i].row.time.us.value);
  }
  for (Entry& entry : entries)
    entry.row.rank_us =
        entry.row.tied_first ? first_us : std::max(first_us, entry.row.time.us.value);
  std::ranges::sort(entries, {}, [](const Entry& entry) {
    const db::TrialRow& trial = *entry.trial;
    const bool tied = entry.row.tied_first;
    const double figure = tied ? entry.row.ratio.value : entry.row.rank_us;
    return std::tuple(!tied, tied && figure <= report::kAsGood ? 0 : figure,
                      report::frugality(trial));
  });
  std::vector<db::FinalRow> rows;
  for (Entry& entry : entries) {
    entry.row.place = static_cast<int>(rows.size()) + 1;
    rows.push_back(std::move(entry.row));
  }
  return rows;
}

}  // namespace fa_tune::tuner
