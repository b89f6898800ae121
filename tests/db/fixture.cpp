#include "tests/db/fixture.hpp"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include "db/migrations.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;

RunRow a_run() {
  RunRow run;
  run.space = "l4";
  run.space_hash = "5ace";
  run.space_text = "# the space\nname: l4\n";
  run.problem = "attention";
  run.shape_json = R"({"B":1,"D":64,"H":8,"Lq":512,"causal":true})";
  run.device = "emulator:l4";
  run.device_name = "emulator of NVIDIA L4";
  run.arch = "sm_89";
  run.target = "l4";
  run.time_kind = "predicted";
  run.driver = "";
  run.compiler = "NVRTC 13.0";
  run.strategy = "evolution";
  run.seed = 18'446'744'073'709'551'615U;
  run.options_json = R"({"jobs":2})";
  run.state = "running";
  run.started_at = "2026-01-02T03:04:05Z";
  return run;
}

TrialRow a_trial(std::int64_t run, std::int64_t number, double time_us) {
  TrialRow trial;
  trial.run = run;
  trial.number = number;
  trial.config_json = R"({"template":"mma","BLOCK_M":)" + std::to_string(number) + "}";
  trial.operation = "mutate";
  trial.stage = "screen";
  trial.outcome = Outcome::passed;
  trial.finding = "passed";
  trial.source_hash = "source" + std::to_string(number);
  trial.code_hash = "code" + std::to_string(number);
  trial.registers = 96;
  trial.spill_bytes = 0;
  trial.static_shared_bytes = 1024;
  trial.dynamic_shared_bytes = 49152;
  trial.compile_ms = 312.5;
  trial.gate_ms = 20.25;
  trial.measure_ms = 7.125;
  trial.gate_cases = 12;
  trial.worst_ratio = 0.4;
  trial.worst_rms = 0.0001;
  trial.screen_time = ScreenTime{{time_us, time_us * 0.99, time_us * 1.01}};
  trial.detail_json = R"({"bound":"dram"})";
  trial.finished_at = "2026-01-02T03:04:06Z";
  return trial;
}

std::string ask(const std::filesystem::path& database, const std::string& sql) {
  SQLite::Database db(database.string(), SQLite::OPEN_READONLY, 5000);
  SQLite::Statement query(db, sql);
  return query.executeStep() ? query.getColumn(0).getString() : "no row";
}

void change(const std::filesystem::path& database, const std::string& sql) {
  SQLite::Database db(database.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, 5000);
  db.exec(sql);
}

void make_first_schema(const std::filesystem::path& path) {
  SQLite::Database db(path.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  db.exec("PRAGMA journal_mode = WAL");
  db.exec(std::string(migrations().front().sql));
  db.exec("PRAGMA application_id = 1717662837");
  db.exec("PRAGMA user_version = 1");
  db.exec("INSERT INTO spaces VALUES (1, 'l4', '5ace', 'name: l4')");
  db.exec("INSERT INTO devices VALUES (1, 'cuda:0', 'L4', '')");
  db.exec(
      "INSERT INTO runs VALUES (1, 1, 1, 'attention', '{}', 'sm_89', 'l4', 'measured', 'NVRTC', "
      "'evolve', '1', '{}', 'done', '2026-01-01', '2026-01-02')");
  db.exec(
      "INSERT INTO trials (run, number, config, operation, stage, outcome, finding, message, "
      "compile_ms, gate_ms, measure_ms, gate_cases, finished_at) VALUES (1, 1, '{\"A\":1}', "
      "'random', 'compile', 'refused', 'compile_error', 'line 3', 1, 0, 0, 0, '2026-01-01')");
}

}  // namespace fa_tune::test
