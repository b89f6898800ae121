#include <SQLiteCpp/Transaction.h>

#include "db/columns.hpp"
#include "db/store_state.hpp"
#include "db/write_rows.hpp"
#include "engine/util/fault_point.hpp"

namespace fa_tune::db {

using SQLite::Database;
using SQLite::Statement;
using SQLite::Transaction;
using SQLite::TransactionBehavior;

namespace {

void set_final(Database& db, std::int64_t trial, const FinalTime& time,
               const std::vector<double>& samples) {
  require_interval(time.us);
  Statement update(db,
                   "UPDATE trials SET stage = 'final', final_us = :us, final_low_us = :us_low, "
                   "final_high_us = :us_high WHERE id = :trial");
  bind_interval(update, ":us", time.us);
  update.bind(":trial", trial);
  require_row(update.exec(), "trial", trial);
  Statement insert(db, kInsertSamples);
  insert_samples(insert, trial, "final", samples);
}

void set_race(Database& db, const FinalRow& row) {
  Statement insert(
      db,
      "INSERT INTO final_races (trial, race, place, tied_first, rank_us, blocks, ratio, ratio_low, "
      "ratio_high, detail, cold_us, cold_low_us, cold_high_us, cold_samples, cold_detail) VALUES "
      "(:trial, :race, :place, :tied_first, :rank_us, :blocks, :ratio, :ratio_low, :ratio_high, "
      ":detail, :cold, :cold_low, :cold_high, :cold_samples, :cold_detail) ON CONFLICT "
      "(trial) DO UPDATE SET race = excluded.race, place = excluded.place, tied_first = "
      "excluded.tied_first, rank_us = excluded.rank_us, blocks = excluded.blocks, ratio = "
      "excluded.ratio, ratio_low = excluded.ratio_low, ratio_high = excluded.ratio_high, detail = "
      "excluded.detail, cold_us = excluded.cold_us, cold_low_us = excluded.cold_low_us, "
      "cold_high_us = excluded.cold_high_us, cold_samples = excluded.cold_samples, cold_detail = "
      "excluded.cold_detail");
  insert.bind(":trial", row.trial);
  insert.bind(":race", row.race);
  insert.bind(":place", row.place);
  insert.bind(":tied_first", row.tied_first ? 1 : 0);
  insert.bind(":rank_us", row.rank_us);
  insert.bind(":blocks", row.blocks);
  bind_interval(insert, ":ratio", row.ratio);
  insert.bind(":detail", row.detail_json);
  bind_interval(insert, ":cold", row.cold ? std::optional(row.cold->us) : std::nullopt);
  bind_text(insert, ":cold_samples",
            row.cold ? nlohmann::json(row.cold_samples_us).dump() : std::string());
  bind_text(insert, ":cold_detail", row.cold ? row.cold_detail_json : std::string());
  insert.exec();
}

// Pages have no checksums: a flipped bit may reach us as text.
std::vector<double> series_of(const SQLite::Column& column) {
  try {
    return nlohmann::json::parse(json_of(column, '[')).get<std::vector<double>>();
  } catch (const nlohmann::json::exception&) {
    throw SQLite::Exception("samples that are not a list of numbers", SQLITE_CORRUPT);
  }
}

// A column that is never empty in a file of ours may be in a damaged one.
Interval interval_there(const Statement& row, int first) {
  const auto interval = interval_of(row, first);
  if (!interval)
    throw SQLite::Exception(std::string("no ") + row.getColumn(first).getName(), SQLITE_CORRUPT);
  return *interval;
}

FinalRow read_final(const Statement& row) {
  FinalRow final;
  int column = 0;
  final.trial = row.getColumn(column++).getInt64();
  final.race = row.getColumn(column++).getInt();
  final.place = row.getColumn(column++).getInt();
  final.tied_first = row.getColumn(column++).getInt() != 0;
  final.rank_us = row.getColumn(column++).getDouble();
  final.blocks = row.getColumn(column++).getInt();
  final.ratio = interval_there(row, column);
  column += 3;
  final.detail_json = json_of(row.getColumn(column++), '{');
  final.time.us = interval_there(row, column);
  column += 3;
  const auto cold_us = interval_of(row, column);
  if (!cold_us) return final;
  final.cold = FinalTime{*cold_us};
  column += 3;
  final.cold_samples_us = series_of(row.getColumn(column++));
  final.cold_detail_json = json_of(row.getColumn(column++), '{');
  return final;
}

}  // namespace

void Store::record_final(std::int64_t trial, const FinalTime& time,
                         const std::vector<double>& samples) {
  state_->guarded([&](Database& db) {
    Transaction transaction(db, TransactionBehavior::IMMEDIATE);
    set_final(db, trial, time, samples);
    fault_point("final_written");
    transaction.commit();
    fault_point("final_committed");
  });
}

void Store::record_race(const std::vector<FinalRow>& rows) {
  state_->guarded([&](Database& db) {
    Transaction transaction(db, TransactionBehavior::IMMEDIATE);
    for (const FinalRow& row : rows) {
      set_final(db, row.trial, row.time, row.samples_us);
      set_race(db, row);
    }
    fault_point("final_written");
    transaction.commit();
    fault_point("final_committed");
  });
}

void Store::fail_final(std::int64_t trial, const std::string& finding, const std::string& message) {
  state_->guarded([&](Database& db) {
    // It may have come through the finals once, before the run went on.
    Statement update(db,
                     "UPDATE trials SET stage = 'final', outcome = 'failed', finding = ?, "
                     "message = ?, final_us = NULL, final_low_us = NULL, final_high_us = NULL "
                     "WHERE id = ?");
    update.bind(1, finding);
    update.bind(2, message);
    update.bind(3, trial);
    require_row(update.exec(), "trial", trial);
  });
}

std::vector<FinalRow> Store::finals(std::int64_t run) const {
  return state_->guarded([&](Database& db) {
    Statement query(db,
                    "SELECT f.trial, f.race, f.place, f.tied_first, f.rank_us, f.blocks, f.ratio, "
                    "f.ratio_low, f.ratio_high, f.detail, t.final_us, t.final_low_us, "
                    "t.final_high_us, f.cold_us, f.cold_low_us, f.cold_high_us, f.cold_samples, "
                    "f.cold_detail FROM final_races f JOIN trials t ON t.id = f.trial WHERE t.run "
                    "= ? AND t.final_us IS NOT NULL ORDER BY f.race, f.place, f.trial");
    query.bind(1, run);
    std::vector<FinalRow> rows;
    while (query.executeStep()) rows.push_back(read_final(query));
    return rows;
  });
}

}  // namespace fa_tune::db
