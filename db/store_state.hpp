#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Savepoint.h>
#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>

#include "db/failure.hpp"
#include "db/run_lease.hpp"
#include "db/store.hpp"
#include "engine/util/fault_point.hpp"

namespace fa_tune::db {

struct Store::State {
  State(std::string file, std::unique_ptr<SQLite::Database> opened)
      : path(std::move(file)), db(std::move(opened)) {}

  std::string path;  // for messages
  std::unique_ptr<SQLite::Database> db;
  std::map<const char*, SQLite::Statement> kept;  // KeptStatement; they end before db does
  std::map<std::int64_t, RunLease> leases;        // of the runs that this process works on
  bool in_group = false;                          // a Store::Group lives
  std::optional<SQLite::Transaction> group;       // its transaction, from its first write on
  std::vector<FaultPointName> after_group;
  // What the sources written last end with, and its hash: a template's is long, and that of each of
  // its trials.
  std::deque<std::pair<std::string, std::string>> bodies;

  // Runs `action` on the database, with SQLite's errors turned into ours.
  template <typename Action>
  auto guarded(Action&& action) const {
    return translating_failures(path, [&] { return action(*db); });
  }
};

// A statement that each trial of a search needs: SQLite prepares it once for a store. `sql` must be
// the same object each time. It reads and locks nothing any more when this goes.
class KeptStatement {
 public:
  KeptStatement(Store::State& state, const char* sql)
      : statement_(state.kept.try_emplace(sql, *state.db, sql).first->second) {
    statement_.clearBindings();
  }
  ~KeptStatement() { statement_.tryReset(); }
  KeptStatement(const KeptStatement&) = delete;
  KeptStatement& operator=(const KeptStatement&) = delete;

  SQLite::Statement& operator*() { return statement_; }
  SQLite::Statement* operator->() { return &statement_; }

 private:
  SQLite::Statement& statement_;
};

// All or nothing: a transaction of its own, or within a Store::Group a part of the group's.
class AtomicWrite {
 public:
  explicit AtomicWrite(Store::State& state) : state_(state) {
    constexpr auto kKind = SQLite::TransactionBehavior::IMMEDIATE;
    if (!state.in_group) {
      transaction_.emplace(*state.db, kKind);
      return;
    }
    if (!state.group) state.group.emplace(*state.db, kKind);
    savepoint_.emplace(*state.db, "part");
  }

  // `then`: where a process may be made to die once this is on disk.
  void commit(FaultPointName then) {
    if (transaction_) {
      transaction_->commit();
      fault_point(then);
    } else {
      savepoint_->release();
      state_.after_group.push_back(then);
    }
  }

 private:
  Store::State& state_;
  std::optional<SQLite::Transaction> transaction_;
  std::optional<SQLite::Savepoint> savepoint_;
};

}  // namespace fa_tune::db
