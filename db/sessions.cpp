#include "db/columns.hpp"
#include "db/store_state.hpp"

namespace fa_tune::db {

using SQLite::Database;
using SQLite::Statement;

void Store::record_session(std::int64_t run, const SessionRow& session) {
  state_->guarded([&](Database& db) {
    Statement insert(db,
                     "INSERT INTO sessions (run, devices, breakdown, ended_at) VALUES (:run, "
                     ":devices, :breakdown, strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))");
    insert.bind(":run", run);
    insert.bind(":devices", session.devices_json);
    insert.bind(":breakdown", session.breakdown_json);
    insert.exec();
  });
}

std::vector<SessionRow> Store::sessions(std::int64_t run) const {
  return state_->guarded([&](Database& db) {
    Statement query(db, "SELECT devices, breakdown FROM sessions WHERE run = ? ORDER BY id");
    query.bind(1, run);
    std::vector<SessionRow> rows;
    while (query.executeStep())
      rows.push_back({json_of(query.getColumn(0), '['), json_of(query.getColumn(1), '{')});
    return rows;
  });
}

}  // namespace fa_tune::db
