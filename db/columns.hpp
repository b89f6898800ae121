#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>
#include <nlohmann/json.hpp>
#include <sqlite3.h>

#include "engine/model/interval.hpp"
#include "engine/util/json_limits.hpp"

namespace fa_tune::db {

// Rows say 'none' with "", 0 or -1, the database says it with NULL: these go from one to the other.

inline void bind_text(SQLite::Statement& statement, const char* name, const std::string& text) {
  if (text.empty())
    statement.bind(name);
  else
    statement.bind(name, text);
}

inline void bind_id(SQLite::Statement& statement, const char* name, std::int64_t id) {
  if (id == 0)
    statement.bind(name);
  else
    statement.bind(name, id);
}

inline void bind_count(SQLite::Statement& statement, const char* name, int count) {
  if (count < 0)
    statement.bind(name);
  else
    statement.bind(name, count);
}

inline void bind_real(SQLite::Statement& statement, const char* name, std::optional<double> value) {
  if (value)
    statement.bind(name, *value);
  else
    statement.bind(name);
}

// Three names in a row: the figure and the ends of its interval.
inline void bind_interval(SQLite::Statement& statement, const std::string& name,
                          const std::optional<Interval>& us) {
  bind_real(statement, name.c_str(), us ? std::optional(us->value) : std::nullopt);
  bind_real(statement, (name + "_low").c_str(), us ? known_end(us->low) : std::nullopt);
  bind_real(statement, (name + "_high").c_str(), us ? known_end(us->high) : std::nullopt);
}

inline std::string text_of(const SQLite::Column& column) { return column.getString(); }

inline int count_of(const SQLite::Column& column) { return column.isNull() ? -1 : column.getInt(); }

inline std::optional<double> real_of(const SQLite::Column& column) {
  if (column.isNull()) return std::nullopt;
  return column.getDouble();
}

// Three columns from `first` on.
inline std::optional<Interval> interval_of(const SQLite::Statement& row, int first) {
  if (row.isColumnNull(first)) return std::nullopt;
  Interval interval{row.getColumn(first).getDouble()};
  interval.low = real_of(row.getColumn(first + 1)).value_or(interval.low);
  interval.high = real_of(row.getColumn(first + 2)).value_or(interval.high);
  return interval;
}

// JSON that begins with `first`, '{' or '['. Pages have no checksums: a flipped bit may reach us as
// text. Throws SQLite::Exception as for a damaged page.
inline std::string json_of(const SQLite::Column& column, char first) {
  std::string text = column.getString();
  if (const auto excess = json_excess(text))
    throw SQLite::Exception(std::string("column ") + column.getName() + ": " + *excess,
                            SQLITE_CORRUPT);
  if (!text.starts_with(first) || !nlohmann::json::accept(text))
    throw SQLite::Exception(std::string("column ") + column.getName() + " holds no JSON",
                            SQLITE_CORRUPT);
  return text;
}

// For a figure that may be 'not a number', which SQLite keeps as NULL.
inline double real_or_nan(const SQLite::Column& column) {
  return real_of(column).value_or(std::numeric_limits<double>::quiet_NaN());
}

}  // namespace fa_tune::db
