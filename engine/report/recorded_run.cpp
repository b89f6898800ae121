#include "engine/report/recorded_run.hpp"

#include <map>
#include <string>

#include <fmt/core.h>

#include "engine/report/rows.hpp"
#include "engine/util/error.hpp"
#include "engine/util/hash.hpp"

namespace fa_tune::report {
namespace {

constexpr double kUsPerMs = 1000;

community::Failure failure_of(const db::TrialRow& trial) {
  if (trial.outcome == Outcome::passed && trial.screen_time) return community::Failure::none;
  const std::string& stage = trial.stage;
  if (stage == "compile") return community::Failure::compile;
  if (stage == "space" || stage == "resources") return community::Failure::invalid;
  if (stage == "gate" || stage == "final") return community::Failure::wrong;
  return stage == "launch" || stage == "screen" ? community::Failure::runtime
                                                : community::Failure::other;
}

// Of its screen: what others of the table have as well.
std::vector<double> samples_ms(const db::Store& store, const db::TrialRow& trial) {
  std::vector<double> result;
  for (const db::SampleRow& row : store.samples(trial.id))
    if (row.phase == "screen")
      for (const double us : row.us) result.push_back(us / kUsPerMs);
  return result;
}

// The word that a row had up to schema 8. It stays in what is hashed, so that a run keeps the
// fingerprint that was written down for it.
std::string old_word(const std::string& word) {
  if (word == to_text(Outcome::passed)) return "right";
  if (word == to_text(Outcome::failed)) return "refused";
  return word;
}

}  // namespace

std::vector<std::string> run_fingerprint_lines(const db::Store& store, std::int64_t run) {
  const auto row = store.run(run);
  if (!row) throw UserError(fmt::format("there is no run {}", run));
  std::map<std::int64_t, std::int64_t> numbers;  // by id
  std::vector<std::string> lines;
  for (const db::TrialRow& trial : store.trials(run)) {
    numbers[trial.id] = trial.number;
    std::string line = fmt::format("{} {} {} {} {} {} {} {}", trial.number, trial.config_json,
                                   trial.operation, trial.stage, old_word(to_text(trial.outcome)),
                                   old_word(trial.finding), trial.source_hash, trial.code_hash);
    if (trial.duplicate_of != 0) line += fmt::format(" = {}", numbers[trial.duplicate_of]);
    for (const db::ParentRow& parent : store.parents(trial.id))
      line += fmt::format(" < {} {}", numbers[parent.parent], parent.genes_json);
    if (row->time_kind == "predicted") {
      if (trial.screen_time) line += fmt::format(" screen {}", trial.screen_time->us.value);
      if (trial.final_time) line += fmt::format(" final {}", trial.final_time->us.value);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string run_fingerprint(const db::Store& store, std::int64_t run) {
  std::string text;
  for (const std::string& line : run_fingerprint_lines(store, run)) text += line + "\n";
  return sha256(text);
}

community::RecordedRun run_table(const db::Store& store, std::int64_t id) {
  const auto run = store.run(id);
  if (!run) throw UserError(fmt::format("there is no run {} in this database", id));
  community::RecordedRun table;
  table.device = run->device_name;
  table.kernel = run->problem;
  const Constants shape = shape_of(run->shape_json);
  for (const auto& [name, value] : shape)
    if (const auto* number = std::get_if<std::int64_t>(&value))
      table.problem_size.push_back(*number);
  table.facts = {{"space", run->space},          {"shape", run->shape_json},
                 {"time_kind", run->time_kind},  {"arch", run->arch},
                 {"compiler", run->compiler},    {"strategy", run->strategy},
                 {"started_at", run->started_at}};
  const std::vector<db::TrialRow> rows = store.trials(id);
  std::map<std::int64_t, const db::TrialRow*> by_id;
  for (const db::TrialRow& row : rows) by_id[row.id] = &row;
  for (const db::TrialRow& row : rows) {
    const auto original = by_id.find(row.duplicate_of);
    const db::TrialRow& timed = original == by_id.end() ? row : *original->second;
    community::RecordedTrial trial;
    trial.config = Config::from_json(row.config_json);
    trial.failure = failure_of(timed);
    if (trial.failure == community::Failure::none) {
      trial.time_ms = timed.screen_time->us.value / kUsPerMs;
      trial.samples_ms = samples_ms(store, timed);
    }
    trial.compile_ms = row.compile_ms;
    trial.verification_ms = row.gate_ms;
    trial.benchmark_ms = row.measure_ms;
    trial.timestamp = row.finished_at;
    table.trials.push_back(std::move(trial));
  }
  if (table.trials.empty()) throw UserError(fmt::format("run {} has no trials", id));
  return table;
}

}  // namespace fa_tune::report
