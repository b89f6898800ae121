#include "engine/report/run_fingerprint.hpp"

#include <map>

#include <fmt/core.h>

#include "engine/util/error.hpp"
#include "engine/util/hash.hpp"

namespace fa_tune {
namespace {

// The word that a row had up to schema 8. It stays in what is hashed, so that a run keeps the
// fingerprint that was written down for it.
std::string old_word(const std::string& word) {
  if (word == to_text(Outcome::passed)) return "right";
  if (word == to_text(Outcome::failed)) return "refused";
  return word;
}

}  // namespace

std::vector<std::string> run_fingerprint_lines(const Store& store, std::int64_t run) {
  const auto row = store.run(run);
  if (!row) throw UserError(fmt::format("there is no run {}", run));
  std::map<std::int64_t, std::int64_t> numbers;  // by id
  std::vector<std::string> lines;
  for (const TrialRow& trial : store.trials(run)) {
    numbers[trial.id] = trial.number;
    std::string line = fmt::format("{} {} {} {} {} {} {} {}", trial.number, trial.config_json,
                                   trial.operation, trial.stage, old_word(to_text(trial.outcome)),
                                   old_word(trial.finding), trial.source_hash, trial.code_hash);
    if (trial.duplicate_of != 0) line += fmt::format(" = {}", numbers[trial.duplicate_of]);
    for (const ParentRow& parent : store.parents(trial.id))
      line += fmt::format(" < {} {}", numbers[parent.parent], parent.genes_json);
    if (row->time_kind == "predicted") {
      if (trial.screen_time) line += fmt::format(" screen {}", trial.screen_time->us.value);
      if (trial.final_time) line += fmt::format(" final {}", trial.final_time->us.value);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string run_fingerprint(const Store& store, std::int64_t run) {
  std::string text;
  for (const std::string& line : run_fingerprint_lines(store, run)) text += line + "\n";
  return sha256(text);
}

}  // namespace fa_tune
