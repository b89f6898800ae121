#include "db/columns.hpp"
#include "db/store_state.hpp"
#include "db/write_rows.hpp"

namespace fa_tune::db {

using SQLite::Database;
using SQLite::Statement;

namespace {

ProfileRow read_profile_row(const Statement& row) {
  ProfileRow profile;
  int column = 0;
  profile.trial = row.getColumn(column++).getInt64();
  profile.source = text_of(row.getColumn(column++));
  profile.version = text_of(row.getColumn(column++));
  profile.device = text_of(row.getColumn(column++));
  profile.device_name = text_of(row.getColumn(column++));
  profile.driver = text_of(row.getColumn(column++));
  profile.time_kind = text_of(row.getColumn(column++));
  profile.time_us = row.getColumn(column++).getDouble();
  profile.limited_by = text_of(row.getColumn(column++));
  profile.profile_json = json_of(row.getColumn(column++), '{');
  profile.at = text_of(row.getColumn(column++));
  return profile;
}

constexpr const char* kProfileColumns =
    "p.trial, p.source, p.version, p.device, p.device_name, p.driver, p.time_kind, p.time_us, "
    "p.limited_by, p.profile, p.at";

}  // namespace

void Store::record_profile(const ProfileRow& profile) {
  require_time(profile.time_us);
  state_->guarded([&](Database& db) {
    Statement insert(
        db,
        "INSERT INTO profiles (trial, source, version, device, device_name, driver, time_kind, "
        "time_us, limited_by, profile, at) VALUES (:trial, :source, :version, :device, "
        ":device_name, :driver, :time_kind, :time_us, :limited_by, :profile, "
        "strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))");
    insert.bind(":trial", profile.trial);
    insert.bind(":source", profile.source);
    insert.bind(":version", profile.version);
    insert.bind(":device", profile.device);
    insert.bind(":device_name", profile.device_name);
    insert.bind(":driver", profile.driver);
    insert.bind(":time_kind", profile.time_kind);
    insert.bind(":time_us", profile.time_us);
    insert.bind(":limited_by", profile.limited_by);
    insert.bind(":profile", profile.profile_json);
    insert.exec();
  });
}

std::vector<ProfileRow> Store::profiles(std::int64_t run) const {
  return state_->guarded([&](Database& db) {
    Statement query(db, std::string("SELECT ") + kProfileColumns +
                            " FROM profiles p JOIN trials t ON t.id = p.trial WHERE t.run = ? "
                            "ORDER BY p.trial, p.source, p.id");
    query.bind(1, run);
    std::vector<ProfileRow> rows;
    // The newest of a trial and source comes last and takes the older one's place.
    while (query.executeStep()) {
      ProfileRow row = read_profile_row(query);
      if (!rows.empty() && rows.back().trial == row.trial && rows.back().source == row.source)
        rows.back() = std::move(row);
      else
        rows.push_back(std::move(row));
    }
    return rows;
  });
}

}  // namespace fa_tune::db
