#include "db/merge.hpp"

#include <map>
#include <string>
#include <vector>

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <sqlite3.h>

#include "db/backup.hpp"
#include "db/connection.hpp"
#include "db/failure.hpp"
#include "db/schema.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::db {
namespace {

// Thrown between two rows or pages, past SQLite.
struct Stopped {};

struct Table {
  std::string name;
  std::vector<std::string> columns;               // without those that are computed
  std::map<std::string, std::string> references;  // by column: the table whose `id` it holds
  bool numbered = false;                          // has an `id` of its own

  // What stands once, whoever refers to it: it refers to nothing itself.
  bool shared() const { return references.empty(); }
};

std::vector<Table> tables_of(SQLite::Database& db) {
  std::vector<Table> tables;
  SQLite::Statement names(db,
                          "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE "
                          "'sqlite_%' ORDER BY rowid");
  while (names.executeStep()) {
    Table& table = tables.emplace_back();
    table.name = names.getColumn(0).getString();
    SQLite::Statement columns(db, "SELECT name FROM pragma_table_info(?)");
    columns.bind(1, table.name);
    while (columns.executeStep()) {
      table.columns.push_back(columns.getColumn(0).getString());
      table.numbered = table.numbered || table.columns.back() == "id";
    }
    SQLite::Statement keys(db, R"(SELECT "from", "table" FROM pragma_foreign_key_list(?))");
    keys.bind(1, table.name);
    // References by a hash are the same everywhere.
    while (keys.executeStep()) {
      const std::string to = keys.getColumn(1).getString();
      if (to != "sources" && to != "bodies") table.references[keys.getColumn(0).getString()] = to;
    }
  }
  return tables;
}

// As the migrations make them: tables of a user's own are not among them.
std::vector<Table> our_tables() {
  SQLite::Database empty(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  apply_migrations(empty, ":memory:", [](int) {});
  return tables_of(empty);
}

// `run` in [{"run":3,"trials":120}], which a run's options name as what it learned from.
std::string with_later_runs(const std::string& options, std::int64_t runs) {
  auto json = nlohmann::ordered_json::parse(options);
  if (!json.contains("earlier")) return options;
  for (auto& one : json["earlier"]) one["run"] = one.at("run").get<std::int64_t>() + runs;
  return json.dump();
}

// Of a message such as "as in trial 12: ...".
std::string with_later_trial(const std::string& message, std::int64_t trials) {
  constexpr std::string_view kBefore = "as in trial ";
  if (!message.starts_with(kBefore)) return message;
  const std::size_t end = message.find(':');
  const std::string number = message.substr(kBefore.size(), end - kBefore.size());
  if (number.empty() || number.find_first_not_of("0123456789") != std::string::npos) return message;
  return fmt::format("{}{}{}", kBefore, std::stoll(number) + trials, message.substr(end));
}

class Merge {
 public:
  Merge(SQLite::Database& from, SQLite::Database& to, const std::atomic<bool>& stop)
      : from_(from), to_(to), stop_(stop), tables_(our_tables()) {}

  void run() {
    to_.exec("PRAGMA foreign_keys = OFF");
    SQLite::Transaction transaction(to_);
    for (const Table& table : tables_)
      if (table.numbered && !table.shared())
        before_[table.name] =
            to_.execAndGet("SELECT coalesce(max(id), 0) FROM " + table.name).getInt64();
    // What is referred to first: its new numbers are needed.
    for (const bool shared : {true, false})
      for (const Table& table : tables_)
        if (table.shared() == shared) add(table);
    transaction.commit();
    if (SQLite::Statement check(to_, "PRAGMA foreign_key_check"); check.executeStep())
      throw std::logic_error("a merged row of " + check.getColumn(0).getString() +
                             " refers to nothing");
  }

  std::int64_t before(const std::string& table) const { return before_.at(table); }

 private:
  void add(const Table& table) {
    // A number of its own is given by the table that stands once, and else counted on.
    const bool renumbered = table.shared() && table.numbered;
    std::vector<std::string> columns = table.columns;
    if (renumbered) std::erase(columns, "id");
    const std::string list = fmt::format("{}", fmt::join(columns, ", "));
    SQLite::Statement read(
        from_, fmt::format("SELECT {}{} FROM {}", list, renumbered ? ", id" : "", table.name));
    std::vector<std::string> marks(columns.size(), "?");
    SQLite::Statement write(
        to_, fmt::format("INSERT{} INTO {} ({}) VALUES ({})", table.shared() ? " OR IGNORE" : "",
                         table.name, list, fmt::join(marks, ", ")));
    while (read.executeStep()) {
      if (stop_) throw Stopped();
      for (std::size_t i = 0; i < columns.size(); ++i)
        bind(table, columns[i], read.getColumn(static_cast<int>(i)), write,
             static_cast<int>(i) + 1);
      write.exec();
      write.reset();
      if (renumbered)
        shared_[table.name][read.getColumn(static_cast<int>(columns.size())).getInt64()] =
            number_of(table, columns, read);
    }
  }

  // Under which number a shared row stands, whether it was there before or not.
  std::int64_t number_of(const Table& table, const std::vector<std::string>& columns,
                         SQLite::Statement& row) {
    std::vector<std::string> equal;
    for (const std::string& column : columns) equal.push_back(column + " IS ?");
    SQLite::Statement find(
        to_, fmt::format("SELECT id FROM {} WHERE {}", table.name, fmt::join(equal, " AND ")));
    for (std::size_t i = 0; i < columns.size(); ++i)
      find.bind(static_cast<int>(i) + 1, row.getColumn(static_cast<int>(i)).getString());
    if (!find.executeStep())
      throw std::logic_error("a row of " + table.name + " did not arrive in the merged database");
    return find.getColumn(0).getInt64();
  }

  void bind(const Table& table, const std::string& column, const SQLite::Column& value,
            SQLite::Statement& write, int place) {
    const auto reference = table.references.find(column);
    if (value.isNull()) {
      write.bind(place);
    } else if (reference != table.references.end()) {
      write.bind(place, number_in(reference->second, value.getInt64()));
    } else if (column == "id" && table.numbered) {
      write.bind(place, before_.at(table.name) + value.getInt64());
    } else if (table.name == "runs" && column == "options") {
      write.bind(place, with_later_runs(value.getString(), before_.at("runs")));
    } else if (table.name == "trials" && column == "message") {
      write.bind(place, with_later_trial(value.getString(), before_.at("trials")));
    } else if (value.isInteger()) {
      write.bind(place, value.getInt64());
    } else if (value.isFloat()) {
      write.bind(place, value.getDouble());
    } else {
      write.bind(place, value.getString());
    }
  }

  std::int64_t number_in(const std::string& table, std::int64_t number) const {
    const auto shared = shared_.find(table);
    return shared == shared_.end() ? before_.at(table) + number : shared->second.at(number);
  }

  SQLite::Database& from_;
  SQLite::Database& to_;
  const std::atomic<bool>& stop_;
  std::vector<Table> tables_;
  std::map<std::string, std::int64_t> before_;  // by table: the last number of the first database
  std::map<std::string, std::map<std::int64_t, std::int64_t>> shared_;  // by table: new numbers
};

void require_newest(const std::filesystem::path& path, SQLite::Database& db) {
  const int schema = identify(db).schema;
  if (schema != newest_schema())
    throw UserError(fmt::format(
        "{}: has schema {}, and databases of schema {} can be merged: 'fa-tune db migrate' brings "
        "it there",
        path.string(), schema, newest_schema()));
}

}  // namespace

std::optional<Merged> merge_databases(const std::filesystem::path& first,
                                      const std::filesystem::path& second,
                                      const std::filesystem::path& merged,
                                      const std::atomic<bool>& stop) {
  const auto one = open_as_it_is(first);
  const auto other = open_as_it_is(second);
  require_newest(first, *one);
  require_newest(second, *other);
  Merged result;
  try {
    make_database(first, merged, [&](SQLite::Database& target) {
      copy_pages(*one, target, [&] {
        if (stop) throw Stopped();
      });
      target.exec("PRAGMA journal_mode = DELETE");
      other->exec("BEGIN");
      Merge merge(*other, target, stop);
      merge.run();
      other->exec("COMMIT");
      result = {.runs = target.execAndGet("SELECT count(*) FROM runs").getInt64(),
                .trials = target.execAndGet("SELECT count(*) FROM trials").getInt64(),
                .runs_before = merge.before("runs"),
                .trials_before = merge.before("trials")};
    });
  } catch (const Stopped&) {
    return std::nullopt;
  }
  return result;
}

}  // namespace fa_tune::db
