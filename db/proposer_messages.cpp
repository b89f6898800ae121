#include <SQLiteCpp/Transaction.h>

#include "db/columns.hpp"
#include "db/store_state.hpp"

namespace fa_tune::db {

using SQLite::Database;
using SQLite::Statement;
using SQLite::Transaction;
using SQLite::TransactionBehavior;

void Store::record_proposer_messages(std::int64_t run,
                                     const std::vector<ProposerMessageRow>& messages) {
  state_->guarded([&](Database& db) {
    Transaction transaction(db, TransactionBehavior::IMMEDIATE);
    Statement last(db, "SELECT coalesce(max(seq), 0) FROM proposer_messages WHERE run = ?");
    last.bind(1, run);
    last.executeStep();
    std::int64_t seq = last.getColumn(0).getInt64();
    Statement insert(
        db, "INSERT INTO proposer_messages (run, seq, direction, at, text) VALUES (?, ?, ?, ?, ?)");
    for (const ProposerMessageRow& message : messages) {
      insert.bind(1, run);
      insert.bind(2, ++seq);
      insert.bind(3, message.direction);
      insert.bind(4, message.at);
      insert.bind(5, message.text);
      insert.exec();
      insert.reset();
    }
    transaction.commit();
  });
}

std::vector<ProposerMessageRow> Store::proposer_messages(std::int64_t run) const {
  return state_->guarded([&](Database& db) {
    Statement query(db,
                    "SELECT direction, at, text FROM proposer_messages WHERE run = ? ORDER BY seq");
    query.bind(1, run);
    std::vector<ProposerMessageRow> messages;
    while (query.executeStep())
      messages.push_back(
          {text_of(query.getColumn(0)), text_of(query.getColumn(1)), text_of(query.getColumn(2))});
    return messages;
  });
}

}  // namespace fa_tune::db
