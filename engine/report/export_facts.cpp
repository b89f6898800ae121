#include "engine/report/export.hpp"
#include "engine/report/rows.hpp"

namespace fa_tune {

ExportFacts export_facts(const Store& store, std::int64_t trial) {
  const auto [row, run, raced] = require_trial(store, trial);
  ExportFacts facts;
  facts.space = run.space;
  facts.space_hash = run.space_hash;
  facts.trial = row.id;
  facts.number = row.number;
  facts.run = run.id;
  facts.seed = run.seed;
  facts.device = run.device;
  facts.device_name = run.device_name;
  facts.driver = run.driver;
  facts.arch = run.arch;
  facts.target = run.target;
  facts.compiler = run.compiler;
  facts.when = row.finished_at;
  facts.stage = row.stage;
  facts.time = shown_time(row);
  facts.time_kind = run.time_kind;
  facts.verdict = to_text(row.outcome);
  if (row.outcome != Outcome::passed) facts.verdict += ": " + row.finding;
  facts.left_open = left_open(row);
  facts.gate_cases = row.gate_cases;
  facts.worst_ratio = row.worst_ratio;
  facts.resources.registers = row.registers;
  // The store keeps one figure for spills; stores and loads of a spill go together.
  facts.resources.spill_store_bytes = row.spill_bytes;
  facts.resources.static_shared_bytes = row.static_shared_bytes;
  facts.config = Config::from_json(row.config_json);
  facts.problem = run.problem;
  facts.shape = shape_of(run.shape_json);
  facts.body = store.source(row.source_hash).value_or("");
  facts.code_hash = row.code_hash;
  return facts;
}

}  // namespace fa_tune
