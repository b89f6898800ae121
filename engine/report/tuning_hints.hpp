#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "engine/model/bottleneck.hpp"
#include "engine/report/ablation.hpp"
#include "engine/yaml/value.hpp"

namespace fa_tune::report {

// Another value of a gene, and what the trial's run knows of it. Ratios are of screens to the
// trial's own, below 1 where they were faster.
struct HintOption {
  Value value;
  std::vector<GeneChange> also;  // what else must change for it to be valid
  Config config;
  // The trial of the run that has this very config; nothing if none has.
  std::optional<std::int64_t> trial;
  std::string outcome;          // its: "passed", "failed"
  std::string finding;          // if it failed
  std::optional<double> ratio;  // if it was timed
  // Trials of the run with that value and the trial's template.
  int trials = 0;
  int passed = 0;
  std::optional<double> best_ratio;  // of the fastest of them
};

// A gene that moves the limit, as the template's manifest says. A manifest knows the direction of
// no gene on any machine, so these are things to try and no promises.
struct TuningHint {
  std::string gene;
  Value value;                      // the trial's
  std::vector<HintOption> options;  // not yet tried first, then nearest first
};

// What might be tried next where `limit` is what limits a trial.
struct TuningHints {
  Bottleneck limit = Bottleneck::latency;
  bool known = false;  // the manifest says what its genes move
  std::vector<TuningHint> moves;
};

// A table within kPageWidth columns under a line that says what it is.
std::string next_moves_text(const TuningHints& next);
// {"gene","value","options":[{"value","also":[{"gene","from","to"}],"config","trial","outcome",
// "finding","ratio","trials","passed","best_ratio"}]}; what is missing is null.
void to_json(nlohmann::ordered_json& json, const TuningHint& move);
void to_json(nlohmann::ordered_json& json, const HintOption& option);

}  // namespace fa_tune::report
