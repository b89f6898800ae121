#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "db/store.hpp"
#include "engine/model/interval.hpp"
#include "engine/model/rejection.hpp"
#include "engine/yaml/value.hpp"

namespace fa_tune::report {

// A gene that another config has otherwise; nothing where it does not exist.
struct GeneChange {
  std::string gene;
  std::optional<Value> from;
  std::optional<Value> to;
};

void to_json(nlohmann::ordered_json& json, const GeneChange& change);
void from_json(const nlohmann::ordered_json& json, GeneChange& change);

// "BLOCK_N 128 -> 64, STAGES 2 -> none"; "-" for none.
std::string changes_text(const std::vector<GeneChange>& changes);

// What a variant is asked about.
enum class AblationKind {
  baseline,  // the whole baseline
  back,      // the trial, one gene as the baseline has it
  pair,      // the trial, two such genes
  other,     // the trial, one gene with a value that neither it nor the baseline has
  forward,   // the baseline, one gene as the trial has it
};
std::string to_text(AblationKind kind);

// One variant. `wanted` is what it is asked about; `also` what else had to change for it to be
// valid, as little as there could be, for the reason `because`.
struct AblationRow {
  AblationKind kind = AblationKind::back;
  std::vector<GeneChange> wanted;
  std::vector<GeneChange> also;
  std::string because;
  std::optional<Config> config;  // none if impossible
  // "passed"; "same" (machine code and launch are the very same as those it is compared with);
  // "failed" with a rejection; "impossible" with `because`; "unraced" (passed, but the clock never
  // kept still)
  std::string outcome;
  Rejection rejection = {};
  std::optional<double> time_us;  // the race's; by itself if there was none
  // Its time over that of what it is compared with: the trial's or, of `forward`, the baseline's.
  std::optional<Interval> ratio;
  std::string verdict;  // "slower", "faster", "tie"; empty without a ratio
  int blocks = 0;       // of the race, good ones
  // Of a pair: what the two genes' own ratios make when multiplied, with the interval that is sure
  // to hold it if theirs do, and what the pair's own ratio is beside it: "more", "less" or "as
  // expected"; empty where one is missing, or others changed along with one of the three.
  std::optional<Interval> product;
  std::string interaction;
};

// What each gene of a trial is worth.
struct Ablation {
  std::int64_t trial = 0;
  std::string baseline;  // the preset's name, or "trial 1" where it is one of the run's trials
  std::int64_t baseline_trial = 0;  // that one's, 0 for a preset
  Config trial_config;
  Config baseline_config;
  std::string device_name;
  std::string time_kind;  // "measured" or "predicted"
  std::uint64_t seed = 0;
  double time_us = 0;             // of the trial
  std::vector<AblationRow> rows;  // by kind, then the largest ratio first, those without one last
};

void to_json(nlohmann::ordered_json& json, const AblationRow& row);
void from_json(const nlohmann::ordered_json& json, AblationRow& row);

// "the preset fa2", "trial 1, the run's first that passed".
std::string baseline_words(const Ablation& ablation);

// Of each gene that both have alike the row with the least ratio, the largest of these first.
std::vector<const AblationRow*> best_others(const Ablation& ablation);

// For a person, within kPageWidth columns.
std::string ablation_text(const Ablation& ablation, const db::RunRow& run);

// {"trial","run" integers; "space","shape" (object),"device","time_kind","seed","baseline" (name),
//  "baseline_trial" (its number in the database, or null),
//  "trial_config","baseline_config" objects; "time_us" of the trial;
//  "rows":[{"kind","wanted":[{"gene","from","to"}],"also":[...],"because","config" (object or
//  null),
//           "outcome","finding","message","time_us","ratio":{"median","low","high"},"verdict",
//           "blocks","product":{...},"interaction"}]}
// The words are those of AblationKind and AblationRow; what is missing is null, low and high of a
// prediction too.
std::string ablation_json(const Ablation& ablation, const db::RunRow& run);

// The inverse. Throws UserError, which names `file`, for text of another form.
Ablation read_ablation(const std::string& text, const std::string& file);

}  // namespace fa_tune::report
