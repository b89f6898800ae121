#include <charconv>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "db/columns.hpp"
#include "db/store_state.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::db {
namespace {

using SQLite::Database;
using SQLite::Statement;

constexpr const char* kRun =
    "SELECT r.id, s.name, s.hash, s.text, r.problem, r.shape, d.device, d.name, r.arch, r.target, "
    "r.time_kind, d.driver, r.compiler, r.strategy, r.seed, r.options, r.state, r.started_at, "
    "r.finished_at FROM runs r JOIN spaces s ON s.id = r.space JOIN devices d ON d.id = r.device ";

RunRow read_run(const Statement& row) {
  RunRow run;
  int column = 0;
  run.id = row.getColumn(column++).getInt64();
  for (std::string* text : {&run.space, &run.space_hash, &run.space_text, &run.problem})
    *text = text_of(row.getColumn(column++));
  run.shape_json = json_of(row.getColumn(column++), '{');
  for (std::string* text : {&run.device, &run.device_name, &run.arch, &run.target, &run.time_kind,
                            &run.driver, &run.compiler, &run.strategy})
    *text = text_of(row.getColumn(column++));
  const std::string seed = text_of(row.getColumn(column++));
  std::from_chars(seed.data(), seed.data() + seed.size(), run.seed);
  run.options_json = json_of(row.getColumn(column++), '{');
  for (std::string* text : {&run.state, &run.started_at, &run.finished_at})
    *text = text_of(row.getColumn(column++));
  return run;
}

constexpr const char* kTrial =
    "SELECT t.id, t.run, t.number, t.config, t.operation, t.stage, t.outcome, t.finding, "
    "t.message, t.source_hash, t.code_hash, t.identity, t.duplicate_of, t.registers, "
    "t.spill_bytes, "
    "t.static_shared_bytes, t.dynamic_shared_bytes, t.compile_ms, t.gate_ms, t.measure_ms, "
    "t.gate_cases, t.worst_ratio, t.worst_rms, t.screen_us, t.screen_low_us, t.screen_high_us, "
    "t.final_us, t.final_low_us, t.final_high_us, t.detail, t.finished_at, t.lane, t.at_ms FROM "
    "trials t ";

// Pages have no checksums: a flipped bit may reach us as text.
Outcome outcome_at(const SQLite::Column& column) {
  if (const auto outcome = outcome_of(text_of(column))) return *outcome;
  throw SQLite::Exception("an outcome that is none", SQLITE_CORRUPT);
}

TrialRow read_trial(const Statement& row) {
  TrialRow trial;
  int column = 0;
  for (std::int64_t* number : {&trial.id, &trial.run, &trial.number})
    *number = row.getColumn(column++).getInt64();
  trial.config_json = json_of(row.getColumn(column++), '{');
  for (std::string* text : {&trial.operation, &trial.stage})
    *text = text_of(row.getColumn(column++));
  trial.outcome = outcome_at(row.getColumn(column++));
  for (std::string* text :
       {&trial.finding, &trial.message, &trial.source_hash, &trial.code_hash, &trial.identity})
    *text = text_of(row.getColumn(column++));
  trial.duplicate_of = row.getColumn(column++).getInt64();
  for (int* count : {&trial.registers, &trial.spill_bytes, &trial.static_shared_bytes,
                     &trial.dynamic_shared_bytes})
    *count = count_of(row.getColumn(column++));
  for (double* ms : {&trial.compile_ms, &trial.gate_ms, &trial.measure_ms})
    *ms = row.getColumn(column++).getDouble();
  trial.gate_cases = row.getColumn(column++).getInt();
  for (double* figure : {&trial.worst_ratio, &trial.worst_rms})
    *figure = real_or_nan(row.getColumn(column++));
  if (const auto us = interval_of(row, column)) trial.screen_time = ScreenTime{*us};
  if (const auto us = interval_of(row, column + 3)) trial.final_time = FinalTime{*us};
  column += 6;
  if (!row.isColumnNull(column)) trial.detail_json = json_of(row.getColumn(column), '{');
  ++column;
  trial.finished_at = text_of(row.getColumn(column++));
  trial.device = text_of(row.getColumn(column++));
  trial.at_ms = real_of(row.getColumn(column++));
  return trial;
}

template <typename Row>
std::vector<Row> read_all(Statement& query, Row (*read)(const Statement&)) {
  std::vector<Row> rows;
  while (query.executeStep()) rows.push_back(read(query));
  return rows;
}

template <typename Row>
std::optional<Row> read_one(Statement& query, Row (*read)(const Statement&)) {
  if (!query.executeStep()) return std::nullopt;
  return read(query);
}

// Pages have no checksums: a flipped bit may reach us as text.
std::vector<double> read_series(const std::string& text, const std::string& path) {
  try {
    return nlohmann::json::parse(text).get<std::vector<double>>();
  } catch (const nlohmann::json::exception&) {
    throw UserError(path + ": is damaged (samples that are not a list of numbers); restore a copy");
  }
}

// A given shape matches if each of its keys has the same value in the run's; true equals 1.
constexpr const char* kShapeMatches =
    "NOT EXISTS (SELECT 1 FROM json_each(:shape) want WHERE NOT EXISTS (SELECT 1 FROM "
    "json_each(r.shape) have WHERE have.key = want.key AND have.atom IS want.atom))";

std::vector<TrialRow> best_of_kind(Database& db, const TrialFilter& filter,
                                   const std::string& time_kind) {
  std::string sql = kTrial;
  sql +=
      "JOIN runs r ON r.id = t.run JOIN spaces s ON s.id = r.space JOIN devices d ON d.id = "
      "r.device LEFT JOIN final_races f ON f.trial = t.id AND t.final_us IS NOT NULL WHERE "
      "t.outcome = 'passed' AND t.time_us IS NOT NULL AND r.time_kind = :time_kind";
  if (filter.run) sql += " AND r.id = :run";
  if (filter.space) sql += " AND s.name = :space";
  if (filter.device) sql += " AND (d.device = :device OR d.name = :device)";
  if (filter.shape_json) sql += std::string(" AND ") + kShapeMatches;
  sql +=
      " ORDER BY t.final_us IS NULL, coalesce(f.rank_us, t.time_us), coalesce(f.place, 0), "
      "t.registers, t.id LIMIT :limit";
  Statement query(db, sql);
  query.bind(":time_kind", time_kind);
  if (filter.run) query.bind(":run", *filter.run);
  if (filter.space) query.bind(":space", *filter.space);
  if (filter.device) query.bind(":device", *filter.device);
  if (filter.shape_json) query.bind(":shape", *filter.shape_json);
  query.bind(":limit", filter.limit);
  return read_all(query, read_trial);
}

}  // namespace

std::optional<RunRow> Store::run(std::int64_t id) const {
  return state_->guarded([&](Database& db) {
    Statement query(db, std::string(kRun) + "WHERE r.id = ?");
    query.bind(1, id);
    return read_one(query, read_run);
  });
}

std::vector<RunRow> Store::runs() const {
  return state_->guarded([&](Database& db) {
    Statement query(db, std::string(kRun) + "ORDER BY r.id DESC");
    return read_all(query, read_run);
  });
}

std::string Store::holder_of(std::int64_t run) const {
  return RunLease::holder_of(state_->path, run);
}

std::string Store::standing(const RunRow& run) const {
  if (run.state != "running") return run.state;
  const std::string holder = holder_of(run.id);
  return holder.empty() ? "killed" : "running (" + holder + ")";
}

std::vector<std::pair<std::int64_t, std::string>> Store::open_attempts(std::int64_t run) const {
  return state_->guarded([&](Database& db) {
    // The config of a group is that of the row with the largest attempt: SQLite's rule for max().
    Statement query(db,
                    "SELECT number, config, max(attempt) FROM attempts a WHERE run = ? AND NOT "
                    "EXISTS (SELECT 1 FROM trials t WHERE t.run = a.run AND t.number = a.number) "
                    "GROUP BY number ORDER BY number");
    query.bind(1, run);
    std::vector<std::pair<std::int64_t, std::string>> open;
    while (query.executeStep())
      open.emplace_back(query.getColumn(0).getInt64(), text_of(query.getColumn(1)));
    return open;
  });
}

std::vector<TrialRow> Store::trials(std::int64_t run) const {
  return state_->guarded([&](Database& db) {
    Statement query(db, std::string(kTrial) + "WHERE t.run = ? ORDER BY t.number");
    query.bind(1, run);
    return read_all(query, read_trial);
  });
}

std::optional<TrialRow> Store::trial(std::int64_t id) const {
  return state_->guarded([&](Database& db) {
    Statement query(db, std::string(kTrial) + "WHERE t.id = ?");
    query.bind(1, id);
    return read_one(query, read_trial);
  });
}

std::optional<TrialRow> Store::trial(std::int64_t run, std::int64_t number) const {
  return state_->guarded([&](Database& db) {
    Statement query(db, std::string(kTrial) + "WHERE t.run = ? AND t.number = ?");
    query.bind(1, run);
    query.bind(2, number);
    return read_one(query, read_trial);
  });
}

std::optional<TrialRow> Store::deadly_trial(std::int64_t run, const std::string& source_hash,
                                            bool others) const {
  static const std::string sql =
      std::string(kTrial) +
      "JOIN runs theirs ON theirs.id = t.run JOIN runs ours ON ours.id = ? "
      "WHERE t.source_hash = ? AND t.finding IN ('crash', 'hang') "
      "AND theirs.arch = ours.arch AND theirs.compiler = ours.compiler "
      "AND theirs.time_kind = ours.time_kind AND (t.run = ours.id OR (? AND "
      "NOT (t.finding = 'crash' AND t.message LIKE '%signal 9 (%'))) "
      "ORDER BY t.id LIMIT 1";
  return state_->guarded([&](Database& /*db*/) {
    KeptStatement query(*state_, sql.c_str());
    query->bind(1, run);
    query->bind(2, source_hash);
    query->bind(3, others ? 1 : 0);
    return read_one(*query, read_trial);
  });
}

std::vector<TrialRow> Store::best(const TrialFilter& filter) const {
  if (filter.shape_json && !nlohmann::json::parse(*filter.shape_json, nullptr, false).is_object())
    throw UserError(fmt::format(R"(shape '{}': expected a JSON object such as {{"B":1,"D":64}})",
                                *filter.shape_json));
  return state_->guarded([&](Database& db) {
    if (filter.time_kind) return best_of_kind(db, filter, *filter.time_kind);
    auto measured = best_of_kind(db, filter, "measured");
    return measured.empty() ? best_of_kind(db, filter, "predicted") : measured;
  });
}

std::vector<ParentRow> Store::parents(std::int64_t trial) const {
  return state_->guarded([&](Database& db) {
    Statement query(db,
                    "SELECT trial, parent, ordinal, genes FROM lineage_edges WHERE trial = ? "
                    "ORDER BY ordinal");
    query.bind(1, trial);
    std::vector<ParentRow> parents;
    while (query.executeStep())
      parents.push_back({query.getColumn(0).getInt64(), query.getColumn(1).getInt64(),
                         query.getColumn(2).getInt(), json_of(query.getColumn(3), '{')});
    return parents;
  });
}

std::vector<SampleRow> Store::samples(std::int64_t trial) const {
  return state_->guarded([&](Database& db) {
    Statement query(db, "SELECT trial, phase, us FROM samples WHERE trial = ? ORDER BY id");
    query.bind(1, trial);
    std::vector<SampleRow> samples;
    while (query.executeStep())
      samples.push_back({query.getColumn(0).getInt64(), text_of(query.getColumn(1)),
                         read_series(text_of(query.getColumn(2)), state_->path)});
    return samples;
  });
}

std::optional<std::string> Store::source(const std::string& hash) const {
  return state_->guarded([&](Database& db) -> std::optional<std::string> {
    Statement query(db, "SELECT text FROM kernels WHERE hash = ?");
    query.bind(1, hash);
    if (!query.executeStep()) return std::nullopt;
    return text_of(query.getColumn(0));
  });
}

}  // namespace fa_tune::db
