#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <SQLiteCpp/Statement.h>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace fa_tune::db {

// SQLite would store a NaN as NULL, which means 'was not timed'.
inline void require_time(std::optional<double> us) {
  if (us && (!std::isfinite(*us) || *us <= 0))
    throw std::logic_error(fmt::format("a time of {} us cannot be recorded", *us));
}

inline void require_interval(const Interval& us) {
  for (const auto& figure : {std::optional(us.value), known_end(us.low), known_end(us.high)})
    require_time(figure);
}

inline void require_row(int changed, const char* what, std::int64_t id) {
  if (changed != 1) throw std::logic_error(fmt::format("there is no {} {} to change", what, id));
}

// Inserts a series of samples of one trial, by this statement.
inline constexpr const char* kInsertSamples =
    "INSERT INTO samples (trial, phase, us) VALUES (?, ?, ?)";
inline void insert_samples(SQLite::Statement& insert, std::int64_t trial, const std::string& phase,
                           const std::vector<double>& us) {
  for (const double sample : us) require_time(sample);
  insert.bind(1, trial);
  insert.bind(2, phase);
  insert.bind(3, nlohmann::json(us).dump());
  insert.exec();
}

}  // namespace fa_tune::db
