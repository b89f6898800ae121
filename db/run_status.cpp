#include "db/columns.hpp"
#include "db/store_state.hpp"

namespace fa_tune::db {

using SQLite::Database;
using SQLite::Statement;

void Store::record_status(std::int64_t run, const RunStatusRow& status) {
  state_->guarded([&](Database& db) {
    Statement upsert(db,
                     "INSERT INTO run_status (run, at, status) VALUES (:run, :at, :status) ON "
                     "CONFLICT (run) DO UPDATE SET at = excluded.at, status = excluded.status");
    upsert.bind(":run", run);
    upsert.bind(":at", status.at);
    upsert.bind(":status", status.status_json);
    upsert.exec();
  });
}

std::optional<RunStatusRow> Store::status(std::int64_t run) const {
  return state_->guarded([&](Database& db) -> std::optional<RunStatusRow> {
    Statement query(db, "SELECT at, status FROM run_status WHERE run = ?");
    query.bind(1, run);
    if (!query.executeStep()) return std::nullopt;
    return RunStatusRow{text_of(query.getColumn(0)), json_of(query.getColumn(1), '{')};
  });
}

}  // namespace fa_tune::db
