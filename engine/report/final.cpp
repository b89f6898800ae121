#include "engine/report/final.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace fa_tune {
namespace {

using Json = nlohmann::ordered_json;

Json parsed(const std::string& text) { return Json::parse(text, nullptr, false); }

std::string bound_text(double end, const char* none) {
  return known_end(end) ? fmt::format("{:.4f}", end) : none;
}

}  // namespace

std::map<std::int64_t, RacedFinal> raced_finals(const Store& store, std::int64_t run) {
  return raced_finals(store.finals(run));
}

std::map<std::int64_t, RacedFinal> raced_finals(const std::vector<FinalRow>& all) {
  std::map<int, std::vector<FinalRow>> races;
  for (const FinalRow& row : all) races[row.race].push_back(row);
  std::map<std::int64_t, RacedFinal> finals;
  for (const auto& [number, rows] : races) {
    for (const FinalRow& row : rows) {
      RacedFinal raced{row, static_cast<int>(rows.size()), {}};
      for (const FinalRow& other : rows)
        if (row.tied_first && other.tied_first && other.trial != row.trial)
          raced.tied_with.push_back(other.trial);
      finals.emplace(row.trial, std::move(raced));
    }
  }
  return finals;
}

std::string standing_text(const RacedFinal& raced) {
  const FinalRow& row = raced.row;
  const int others = raced.of - 1;
  const char* plural = others == 1 ? "" : "s";
  if (others == 0) return "nobody else was there";
  if (row.blocks == 0)
    return row.place == 1
               ? fmt::format("the least time; not raced with the {} other{}", others, plural)
               : fmt::format("{:.4f} times the least time; not raced", row.ratio.value);
  if (!raced.tied_with.empty())
    return fmt::format("tied with {} other{} (trial{} {})", raced.tied_with.size(),
                       raced.tied_with.size() == 1 ? "" : "s",
                       raced.tied_with.size() == 1 ? "" : "s", fmt::join(raced.tied_with, ", "));
  if (row.tied_first) return fmt::format("faster than the {} other{}", others, plural);
  return fmt::format("{:.4f} times the fastest's time [{}, {}]", row.ratio.value,
                     bound_text(row.ratio.low, "0"), bound_text(row.ratio.high, "unbounded"));
}

Json final_json(const RacedFinal& raced) {
  const FinalRow& row = raced.row;
  Json cold;
  if (row.cold) {
    cold = interval_json(row.cold->us);
    cold["samples"] = row.cold_samples_us;
    cold["detail"] = parsed(row.cold_detail_json);
  }
  return {{"place", row.place},
          {"of", raced.of},
          {"tied_with", raced.tied_with},
          {"ratio", interval_json(row.ratio)},
          {"blocks", row.blocks},
          {"detail", parsed(row.detail_json)},
          {"cold_us", cold}};
}

}  // namespace fa_tune
