#include <SQLiteCpp/Transaction.h>

#include "db/columns.hpp"
#include "db/store_state.hpp"

namespace fa_tune {

using SQLite::Database;
using SQLite::Statement;

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
    transaction.commit();
  });
}

std::vector<InsightRow> Store::insights(std::int64_t run) const {
  return state_->guarded([&](Database& db) {
    Statement query(db,
                    "SELECT kind, place, seen, text, insight FROM insights WHERE run = ? "
                    "ORDER BY kind, place");
    query.bind(1, run);
    std::vector<InsightRow> rows;
    while (query.executeStep())
      rows.push_back({text_of(query.getColumn(0)), query.getColumn(1).getInt(),
                      query.getColumn(2).getInt() != 0, text_of(query.getColumn(3)),
                      text_of(query.getColumn(4))});
    return rows;
  });
}

}  // namespace fa_tune
