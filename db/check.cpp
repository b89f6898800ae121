#include "db/check.hpp"

#include <SQLiteCpp/Statement.h>
#include <fmt/core.h>

#include "db/columns.hpp"
#include "db/connection.hpp"
#include "db/failure.hpp"
#include "db/schema.hpp"
#include "engine/util/hash.hpp"
#include "engine/util/printable.hpp"

namespace fa_tune::db {
namespace {

using SQLite::Database;
using SQLite::Statement;

// Lines of one kind that are told: a damaged file has thousands.
constexpr int kMostOfAKind = 5;
constexpr std::size_t kLongestLine = 300;

// Each query gives a line for each row that breaks what it is about.
constexpr const char* kInvariants[] = {
    "SELECT 'run ' || run || ': has ' || count(*) || ' trials with numbers from ' || min(number) "
    "|| ' to ' || max(number) FROM trials GROUP BY run HAVING min(number) <> 1 OR max(number) <> "
    "count(*)",
    "SELECT 'trial ' || c.id || ': its parent ' || p.id || ' is of run ' || p.run || ', it is of "
    "run ' || c.run FROM lineage_edges e JOIN trials c ON c.id = e.trial JOIN trials p ON p.id = "
    "e.parent WHERE p.run <> c.run",
    "SELECT 'trial ' || c.id || ': its parent ' || p.id || ' is not older' FROM lineage_edges e "
    "JOIN trials c ON c.id = e.trial JOIN trials p ON p.id = e.parent WHERE p.run = c.run AND "
    "p.number >= c.number",
    "SELECT 'trial ' || trial || ': its parents are not numbered from 0 without gaps' FROM "
    "lineage_edges GROUP BY trial HAVING max(ordinal) <> count(*) - 1",
    "SELECT 'trial ' || id || ': is ' || outcome || ' and has a final figure' FROM trials WHERE "
    "final_us IS NOT NULL AND outcome <> 'passed'",
    "SELECT 'trial ' || id || ': passed at stage ' || stage || ' and has no figure of it' FROM "
    "trials WHERE outcome = 'passed' AND (stage NOT IN ('screen', 'final') OR stage = 'final' AND "
    "final_us IS NULL OR screen_us IS NULL AND final_us IS NULL)",
    "SELECT 'trial ' || id || ': is ' || outcome || ' and a duplicate of ' || "
    "coalesce(duplicate_of, 'nothing') FROM trials WHERE (outcome = 'duplicate') <> (duplicate_of "
    "IS NOT NULL)",
    "SELECT 'trial ' || d.id || ': is a duplicate of ' || o.id || ', which is ' || o.outcome || ' "
    "in run ' || o.run FROM trials d JOIN trials o ON o.id = d.duplicate_of WHERE o.run <> d.run "
    "OR o.outcome = 'duplicate'",
    "SELECT 'trial ' || d.id || ': is a duplicate of ' || o.id || ', which is another kernel' FROM "
    "trials d JOIN trials o ON o.id = d.duplicate_of WHERE d.stage = 'duplicate_code' AND "
    "d.identity IS NOT o.identity",
    "SELECT 'trial ' || b.id || ': is the same kernel as ' || a.id || ' and ' || b.outcome FROM "
    "trials a JOIN trials b ON b.run = a.run AND b.identity = a.identity AND b.id > a.id WHERE "
    "a.outcome <> 'duplicate' AND b.outcome <> 'duplicate'",
    "SELECT 'trial ' || t.id || ': has a figure of the ' || p.phase || ' and no samples of it' "
    "FROM trials t JOIN (SELECT 'screen' AS phase UNION SELECT 'final') p WHERE iif(p.phase = "
    "'screen', t.screen_us, t.final_us) IS NOT NULL AND NOT EXISTS (SELECT 1 FROM samples s WHERE "
    "s.trial = t.id AND s.phase = p.phase)",
    "SELECT 'run ' || run || ': attempts at trial ' || number || ' are not numbered from 1 without "
    "gaps' FROM attempts GROUP BY run, number HAVING min(attempt) <> 1 OR max(attempt) <> count(*)",
    "SELECT 'trial ' || t.id || ': was attempted with another config' FROM trials t JOIN attempts "
    "a ON a.run = t.run AND a.number = t.number WHERE a.config <> t.config",
    "SELECT 'run ' || a.run || ': is ' || r.state || ' and trial ' || a.number || ' was never "
    "ended' FROM attempts a JOIN runs r ON r.id = a.run WHERE r.state = 'done' AND NOT EXISTS "
    "(SELECT 1 FROM trials t WHERE t.run = a.run AND t.number = a.number)",
    "SELECT 'run ' || run || ': what its proposer said is not numbered without gaps' FROM "
    "proposer_messages GROUP BY run HAVING min(seq) <> 1 OR max(seq) <> count(*)",
    "SELECT 'run ' || t.run || ': places of race ' || f.race || ' are taken twice' FROM "
    "final_races "
    "f JOIN trials t ON t.id = f.trial WHERE t.final_us IS NOT NULL GROUP BY t.run, f.race, "
    "f.place "
    "HAVING count(*) > 1",
    "SELECT 'trial ' || t.id || ': was raced and has no figure' FROM final_races f JOIN trials t "
    "ON "
    "t.id = f.trial WHERE t.outcome = 'passed' AND t.final_us IS NULL",
    "SELECT 'trial ' || t.id || ': is ' || t.outcome || ' at stage ' || t.stage || ' and was "
    "profiled' FROM trials t WHERE EXISTS (SELECT 1 FROM profiles p WHERE p.trial = t.id) AND "
    "t.screen_us IS NULL AND t.final_us IS NULL",
    "SELECT 'profile ' || id || ': is limited by ' || limited_by || ', in its JSON by ' || "
    "coalesce(json_extract(profile, '$.limit'), 'nothing') FROM profiles WHERE limited_by IS NOT "
    "json_extract(profile, '$.limit')",
    "SELECT 'insight ' || kind || ' ' || place || ' of run ' || run || ': places have gaps' FROM "
    "insights GROUP BY run, kind HAVING min(place) <> 1 OR max(place) <> count(*)",
};

class Checker {
 public:
  Checker(std::string path, DatabaseReport& report) : path_(std::move(path)), report_(report) {}

  // False if SQLite finds fault with the file itself: then its rows mean nothing.
  bool file(Database& db) {
    const std::size_t before = report_.defects.size();
    lines(db, "SELECT * FROM pragma_integrity_check(" + std::to_string(kMostOfAKind) +
                  ") WHERE integrity_check <> 'ok'");
    lines(db,
          "SELECT 'table ' || \"table\" || ', row ' || coalesce(rowid, '?') || ': refers to a row "
          "of ' || parent || ' that is not there' FROM pragma_foreign_key_check");
    if (const std::string changed = changed_schema(db); !changed.empty())
      report_.defects.push_back(printable(changed, kLongestLine));
    return report_.defects.size() == before;
  }

  void rows(Database& db) {
    for (const char* const invariant : kInvariants) lines(db, invariant);
    sources(db);
  }

 private:
  void lines(Database& db, const std::string& sql) {
    try {
      Statement query(db, sql);
      for (int told = 0; told < kMostOfAKind && query.executeStep(); ++told) {
        const std::string found = text_of(query.getColumn(0));
        if (is_unread(found)) throw_damaged(path_, found);
        report_.defects.push_back(printable(found, kLongestLine));
      }
    } catch (const SQLite::Exception& failure) {
      tell(failure);
    }
  }

  void sources(Database& db) {
    try {
      Statement query(db, "SELECT hash, text FROM kernels");
      for (int told = 0; told < kMostOfAKind && query.executeStep();) {
        const std::string hash = text_of(query.getColumn(0));
        if (sha256(text_of(query.getColumn(1))) == hash) continue;
        report_.defects.push_back(
            printable("source " + hash + ": its text has another hash", kLongestLine));
        ++told;
      }
    } catch (const SQLite::Exception& failure) {
      tell(failure);
    }
  }

  // A damaged page is a finding; a disk that fails is not, it may be well tomorrow.
  void tell(const SQLite::Exception& failure) {
    if (!is_damage(failure)) throw_database_failure(path_, failure);
    report_.defects.push_back(printable(failure.what(), kLongestLine));
  }

  std::string path_;
  DatabaseReport& report_;
};

}  // namespace

DatabaseReport check_database(const std::filesystem::path& path) {
  const std::string name = path.string();
  DatabaseReport report;
  report.newest_schema = newest_schema();
  const auto as_it_is = open_as_it_is(path);
  Checker checker(name, report);
  report.schema = translating_failures(name, [&] { return identify(*as_it_is).schema; });
  if (!checker.file(*as_it_is)) return report;
  // SQLite looks at the constraints of a table only where it could write it.
  const auto db = open_copy(path);
  if (!checker.file(*db)) return report;
  checker.rows(*db);
  translating_failures(name, [&] {
    report.runs = db->execAndGet("SELECT count(*) FROM runs").getInt64();
    report.trials = db->execAndGet("SELECT count(*) FROM trials").getInt64();
    report.samples = db->execAndGet("SELECT count(*) FROM samples").getInt64();
  });
  return report;
}

}  // namespace fa_tune::db
