#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include <SQLiteCpp/Database.h>

#include "db/failure.hpp"
#include "db/run_lease.hpp"
#include "db/store.hpp"

namespace fa_tune::db {

struct Store::State {
  std::string path;  // for messages
  std::unique_ptr<SQLite::Database> db;
  std::map<std::int64_t, RunLease> leases;  // of the runs that this process works on

  // Runs `action` on the database, with SQLite's errors turned into ours.
  template <typename Action>
  auto guarded(Action&& action) const {
    return translating_failures(path, [&] { return action(*db); });
  }
};

}  // namespace fa_tune::db
