#include <SQLiteCpp/Transaction.h>

#include "db/columns.hpp"
#include "db/store_state.hpp"
#include "engine/util/fault_point.hpp"

namespace fa_tune::db {

using SQLite::Database;
using SQLite::Statement;

namespace {

InsightRow read_insight(const Statement& row) {
  InsightRow insight;
  int column = 0;
  insight.kind = text_of(row.getColumn(column++));
  insight.place = row.getColumn(column++).getInt();
  insight.seen = row.getColumn(column++).getInt() != 0;
  insight.text = text_of(row.getColumn(column++));
  insight.insight_json = json_of(row.getColumn(column++), '{');
  return insight;
}

}  // namespace

void Store::record_insights(std::int64_t run, const std::vector<InsightRow>& insights) {
  state_->guarded([&](Database& db) {
    SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
    Statement remove(db, "DELETE FROM insights WHERE run = ?");
    remove.bind(1, run);
    remove.exec();
    Statement insert(db,
                     "INSERT INTO insights (run, kind, place, seen, text, insight) "
                     "VALUES (:run, :kind, :place, :seen, :text, :insight)");
    for (const InsightRow& row : insights) {
      insert.reset();
      insert.bind(":run", run);
      insert.bind(":kind", row.kind);
      insert.bind(":place", row.place);
      insert.bind(":seen", row.seen ? 1 : 0);
      insert.bind(":text", row.text);
      insert.bind(":insight", row.insight_json);
      insert.exec();
    }
    fault_point("insights_written");
    transaction.commit();
    fault_point("insights_committed");
  });
}

std::vector<InsightRow> Store::insights(std::int64_t run) const {
  return state_->guarded([&](Database& db) {
    Statement query(db,
                    "SELECT kind, place, seen, text, insight FROM insights WHERE run = ? "
                    "ORDER BY kind, place");
    query.bind(1, run);
    std::vector<InsightRow> rows;
    while (query.executeStep()) rows.push_back(read_insight(query));
    return rows;
  });
}

}  // namespace fa_tune::db
