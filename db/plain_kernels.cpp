#include "db/columns.hpp"
#include "db/store_state.hpp"
#include "db/write_rows.hpp"

namespace fa_tune::db {

using SQLite::Database;
using SQLite::Statement;

void Store::record_plain_kernel(std::int64_t run, const PlainKernelRow& plain) {
  if (plain.time) require_interval(plain.time->us);
  state_->guarded([&](Database& db) {
    Statement insert(db,
                     "INSERT INTO plain_kernels (run, us, low_us, high_us, detail, message) VALUES "
                     "(:run, :us, :us_low, :us_high, :detail, :message)");
    insert.bind(":run", run);
    bind_interval(insert, ":us", plain.time ? std::optional(plain.time->us) : std::nullopt);
    if (plain.time)
      insert.bind(":detail", plain.detail_json);
    else
      insert.bind(":detail");
    insert.bind(":message", plain.message);
    insert.exec();
  });
}

std::optional<PlainKernelRow> Store::plain_kernel(std::int64_t run) const {
  return state_->guarded([&](Database& db) -> std::optional<PlainKernelRow> {
    Statement query(db,
                    "SELECT us, low_us, high_us, detail, message FROM plain_kernels WHERE run = ?");
    query.bind(1, run);
    if (!query.executeStep()) return std::nullopt;
    PlainKernelRow plain;
    if (const auto us = interval_of(query, 0)) {
      plain.time = ScreenTime{*us};
      plain.detail_json = json_of(query.getColumn(3), '{');
    }
    plain.message = text_of(query.getColumn(4));
    return plain;
  });
}

}  // namespace fa_tune::db
