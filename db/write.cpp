#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <SQLiteCpp/Transaction.h>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "db/columns.hpp"
#include "db/store_state.hpp"
#include "db/write_rows.hpp"
#include "engine/util/fault_point.hpp"
#include "engine/util/hash.hpp"

namespace fa_tune::db {
namespace {

using SQLite::Database;
using SQLite::Statement;
using SQLite::Transaction;
using SQLite::TransactionBehavior;

std::int64_t space_id(Database& db, const RunRow& run) {
  Statement insert(db,
                   "INSERT INTO spaces (name, hash, text) VALUES (?, ?, ?) "
                   "ON CONFLICT (name, hash, text) DO NOTHING");
  insert.bind(1, run.space);
  insert.bind(2, run.space_hash);
  insert.bind(3, run.space_text);
  insert.exec();
  Statement query(db, "SELECT id FROM spaces WHERE name = ? AND hash = ? AND text = ?");
  query.bind(1, run.space);
  query.bind(2, run.space_hash);
  query.bind(3, run.space_text);
  query.executeStep();
  return query.getColumn(0).getInt64();
}

std::int64_t device_id(Database& db, const RunRow& run) {
  Statement insert(db,
                   "INSERT INTO devices (device, name, driver) VALUES (?, ?, ?) "
                   "ON CONFLICT (device, name, driver) DO NOTHING");
  insert.bind(1, run.device);
  insert.bind(2, run.device_name);
  insert.bind(3, run.driver);
  insert.exec();
  Statement query(db, "SELECT id FROM devices WHERE device = ? AND name = ? AND driver = ?");
  query.bind(1, run.device);
  query.bind(2, run.device_name);
  query.bind(3, run.driver);
  query.executeStep();
  return query.getColumn(0).getInt64();
}

// Where the lines of #define end that a kernel begins with; 0 if something is not on both sides.
std::size_t end_of_defines(std::string_view text) {
  std::size_t end = 0;
  while (text.substr(end).starts_with("#define ")) {
    const std::size_t line = text.find('\n', end);
    if (line == std::string_view::npos) return 0;
    end = line + 1;
  }
  return end == text.size() ? 0 : end;
}

// Templates of a space, at most, whose sources' ends are not hashed anew for each trial.
constexpr std::size_t kKnownBodies = 4;

const std::string& body_hash(Store::State& state, std::string_view body) {
  auto& known = state.bodies;
  const auto at = std::ranges::find(
      known, body, [](const auto& each) -> std::string_view { return each.first; });
  if (at != known.end()) return at->second;
  if (known.size() == kKnownBodies) known.pop_front();
  return known.emplace_back(body, sha256(body)).second;
}

// Looked for first, as ON CONFLICT would copy the body each time.
void insert_body(Store::State& state, const std::string& hash, std::string_view body) {
  KeptStatement find(state, "SELECT 1 FROM bodies WHERE hash = ?");
  find->bind(1, hash);
  if (find->executeStep()) return;
  KeptStatement insert(state, "INSERT INTO bodies (hash, text) VALUES (?, ?)");
  insert->bind(1, hash);
  insert->bind(2, std::string(body));
  insert->exec();
}

void insert_source(Store::State& state, const std::string& hash, const std::string& text) {
  const std::size_t end = end_of_defines(text);
  KeptStatement insert(
      state,
      "INSERT INTO sources (hash, text, body) VALUES (?, ?, ?) ON CONFLICT (hash) DO NOTHING");
  insert->bind(1, hash);
  if (end == 0) {
    insert->bind(2, text);
  } else {
    const std::string_view body = std::string_view(text).substr(end);
    const std::string& of_body = body_hash(state, body);
    insert_body(state, of_body, body);
    insert->bind(2, text.substr(0, end));
    insert->bind(3, of_body);
  }
  insert->exec();
}

void insert_parent(Store::State& state, std::int64_t trial, const ParentRow& parent) {
  KeptStatement insert(
      state, "INSERT INTO lineage_edges (trial, parent, ordinal, genes) VALUES (?, ?, ?, ?)");
  insert->bind(1, trial);
  insert->bind(2, parent.parent);
  insert->bind(3, parent.ordinal);
  insert->bind(4, parent.genes_json.empty() ? "{}" : parent.genes_json);
  insert->exec();
}

std::int64_t insert_trial(Store::State& state, const TrialRow& trial) {
  KeptStatement insert(
      state,
      "INSERT INTO trials (run, number, config, operation, stage, outcome, finding, message, "
      "source_hash, code_hash, identity, duplicate_of, registers, spill_bytes, "
      "static_shared_bytes, "
      "dynamic_shared_bytes, compile_ms, gate_ms, measure_ms, gate_cases, worst_ratio, worst_rms, "
      "screen_us, screen_low_us, screen_high_us, final_us, final_low_us, final_high_us, detail, "
      "lane, at_ms, finished_at) VALUES (:run, :number, :config, :operation, :stage, :outcome, "
      ":finding, "
      ":message, :source_hash, :code_hash, :identity, :duplicate_of, :registers, :spill, "
      ":static_shared, "
      ":dynamic_shared, :compile_ms, :gate_ms, :measure_ms, :gate_cases, :worst_ratio, :worst_rms, "
      ":screen, :screen_low, :screen_high, :final, :final_low, :final_high, :detail, :lane, "
      ":at_ms, "
      "coalesce(:finished_at, strftime('%Y-%m-%dT%H:%M:%SZ', 'now')))");
  insert->bind(":run", trial.run);
  insert->bind(":number", trial.number);
  insert->bind(":config", trial.config_json);
  insert->bind(":operation", trial.operation);
  insert->bind(":stage", trial.stage);
  insert->bind(":outcome", to_text(trial.outcome));
  insert->bind(":finding", trial.finding);
  insert->bind(":message", trial.message);
  bind_text(*insert, ":source_hash", trial.source_hash);
  bind_text(*insert, ":code_hash", trial.code_hash);
  bind_text(*insert, ":identity", trial.identity);
  bind_id(*insert, ":duplicate_of", trial.duplicate_of);
  bind_count(*insert, ":registers", trial.registers);
  bind_count(*insert, ":spill", trial.spill_bytes);
  bind_count(*insert, ":static_shared", trial.static_shared_bytes);
  bind_count(*insert, ":dynamic_shared", trial.dynamic_shared_bytes);
  insert->bind(":compile_ms", trial.compile_ms);
  insert->bind(":gate_ms", trial.gate_ms);
  insert->bind(":measure_ms", trial.measure_ms);
  insert->bind(":gate_cases", trial.gate_cases);
  insert->bind(":worst_ratio", trial.worst_ratio);
  insert->bind(":worst_rms", trial.worst_rms);
  bind_interval(*insert, ":screen",
                trial.screen_time ? std::optional(trial.screen_time->us) : std::nullopt);
  bind_interval(*insert, ":final",
                trial.final_time ? std::optional(trial.final_time->us) : std::nullopt);
  bind_text(*insert, ":detail", trial.detail_json);
  bind_text(*insert, ":lane", trial.device);
  bind_real(*insert, ":at_ms", trial.at_ms);
  bind_text(*insert, ":finished_at", trial.finished_at);
  insert->exec();
  return state.db->getLastInsertRowid();
}

}  // namespace

std::int64_t Store::begin_run(const RunRow& run) {
  return state_->guarded([&](Database& db) {
    Transaction transaction(db, TransactionBehavior::IMMEDIATE);
    Statement insert(
        db,
        "INSERT INTO runs (space, device, problem, shape, arch, target, time_kind, compiler, "
        "strategy, seed, options, state, started_at, finished_at) VALUES (:space, :device, "
        ":problem, :shape, :arch, :target, :time_kind, :compiler, :strategy, :seed, :options, "
        ":state, coalesce(:started_at, strftime('%Y-%m-%dT%H:%M:%SZ', 'now')), :finished_at)");
    insert.bind(":space", space_id(db, run));
    insert.bind(":device", device_id(db, run));
    insert.bind(":problem", run.problem);
    insert.bind(":shape", run.shape_json.empty() ? "{}" : run.shape_json);
    insert.bind(":arch", run.arch);
    insert.bind(":target", run.target);
    insert.bind(":time_kind", run.time_kind);
    insert.bind(":compiler", run.compiler);
    insert.bind(":strategy", run.strategy);
    insert.bind(":seed", std::to_string(run.seed));
    insert.bind(":options", run.options_json.empty() ? "{}" : run.options_json);
    insert.bind(":state", run.state.empty() ? "running" : run.state);
    bind_text(insert, ":started_at", run.started_at);
    bind_text(insert, ":finished_at", run.finished_at);
    insert.exec();
    const std::int64_t id = db.getLastInsertRowid();
    RunLease lease(state_->path, id);
    fault_point("run_written");
    transaction.commit();
    fault_point("run_committed");
    state_->leases.emplace(id, std::move(lease));
    return id;
  });
}

void Store::hold_run(std::int64_t run) {
  if (!state_->leases.contains(run)) state_->leases.emplace(run, RunLease(state_->path, run));
}

void Store::set_run_state(std::int64_t run, const std::string& state) {
  state_->guarded([&](Database& db) {
    Statement update(db,
                     "UPDATE runs SET state = :state, finished_at = iif(:state = 'running', NULL, "
                     "strftime('%Y-%m-%dT%H:%M:%SZ', 'now')) WHERE id = :run");
    update.bind(":state", state);
    update.bind(":run", run);
    require_row(update.exec(), "run", run);
  });
  fault_point("state_written");
  if (state != "running") state_->leases.erase(run);
}

Store::Group::Group(Store& store) : store_(store) { store.state_->in_group = true; }

Store::Group::~Group() {
  store_.state_->group.reset();  // what was not committed is rolled back
  store_.state_->after_group.clear();
  store_.state_->in_group = false;
}

void Store::Group::commit() {
  State& state = *store_.state_;
  if (!state.group) return;
  state.guarded([&](Database& /*db*/) { state.group->commit(); });
  state.group.reset();
  for (const FaultPointName point : std::exchange(state.after_group, {})) fault_point(point);
}

int Store::record_attempt(std::int64_t run, std::int64_t number, const std::string& config_json) {
  return state_->guarded([&](Database& /*db*/) {
    AtomicWrite transaction(*state_);
    KeptStatement query(*state_, "SELECT count(*) + 1 FROM attempts WHERE run = ? AND number = ?");
    query->bind(1, run);
    query->bind(2, number);
    query->executeStep();
    const int attempt = query->getColumn(0).getInt();
    KeptStatement insert(*state_,
                         "INSERT INTO attempts (run, number, attempt, config, started_at) "
                         "VALUES (?, ?, ?, ?, strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))");
    insert->bind(1, run);
    insert->bind(2, number);
    insert->bind(3, attempt);
    insert->bind(4, config_json);
    insert->exec();
    fault_point("attempt_written");
    transaction.commit("attempt_committed");
    return attempt;
  });
}

std::int64_t Store::record_trial(const TrialRow& trial, const std::vector<ParentRow>& parents,
                                 const std::vector<SampleRow>& samples,
                                 const std::string& source_text) {
  if (trial.screen_time) require_interval(trial.screen_time->us);
  if (trial.final_time) require_interval(trial.final_time->us);
  return state_->guarded([&](Database& /*db*/) {
    AtomicWrite transaction(*state_);
    if (!trial.source_hash.empty() && !source_text.empty())
      insert_source(*state_, trial.source_hash, source_text);
    const std::int64_t id = insert_trial(*state_, trial);
    for (const ParentRow& parent : parents) insert_parent(*state_, id, parent);
    for (const SampleRow& series : samples) {
      KeptStatement insert(*state_, kInsertSamples);
      insert_samples(*insert, id, series.phase, series.us);
    }
    fault_point("trial_written");
    transaction.commit("trial_committed");
    return id;
  });
}

}  // namespace fa_tune::db
