#include "engine/tuner/ablation/tuning_hints.hpp"

#include <algorithm>
#include <map>

#include "engine/report/show.hpp"
#include "engine/tuner/ablation/ablation_plan.hpp"

namespace fa_tune::tuner {
namespace {

// The nearest valid config with a value is the same for the same trial.
constexpr std::uint64_t kNearestSeed = 1;

// What a run's trials came to, beside one of them.
class RunBeside {
 public:
  RunBeside(const db::Store& store, const db::TrialRow& beside)
      : trials_(store.trials(beside.run)) {
    const auto own = report::screen_beside(beside, beside);
    for (const db::TrialRow& row : trials_) {
      configs_.push_back(Config::from_json(row.config_json));
      const auto us = report::screen_beside(row, beside);
      if (row.outcome == Outcome::passed && us && own) ratios_[row.id] = *us / *own;
      // A duplicate is its original, under another config.
      if (const auto known = ratios_.find(row.duplicate_of);
          row.outcome == Outcome::duplicate && known != ratios_.end())
        ratios_[row.id] = known->second;
    }
  }

  void tell(const std::string& gene, const Value& template_name, report::HintOption& option) const {
    for (std::size_t i = 0; i < trials_.size(); ++i) {
      const db::TrialRow& row = trials_[i];
      const auto ratio = ratios_.find(row.id);
      const bool timed = ratio != ratios_.end();
      if (configs_[i] == option.config) {
        option.trial = row.id;
        option.outcome = to_text(timed ? Outcome::passed : row.outcome);
        if (!timed && row.finding != to_text(row.outcome)) option.finding = row.finding;
        if (timed) option.ratio = ratio->second;
      }
      const Value* value = configs_[i].find(gene);
      if (value == nullptr || *value != option.value ||
          *configs_[i].find("template") != template_name)
        continue;
      ++option.trials;
      if (!timed) continue;
      ++option.passed;
      option.best_ratio = std::min(option.best_ratio.value_or(ratio->second), ratio->second);
    }
  }

 private:
  std::vector<db::TrialRow> trials_;
  std::vector<Config> configs_;
  std::map<std::int64_t, double> ratios_;  // by trial id
};

// How many values lie between two of a parameter's.
std::ptrdiff_t distance(const space::Parameter& parameter, const Value& a, const Value& b) {
  const auto place = [&](const Value& value) {
    return std::ranges::find(parameter.values, value) - parameter.values.begin();
  };
  return std::abs(place(a) - place(b));
}

}  // namespace

report::TuningHints next_moves(const kernel::Template& from, const Config& config,
                               Bottleneck limit) {
  report::TuningHints next{.limit = limit, .known = !from.moves().empty(), .moves = {}};
  std::vector<std::pair<std::ptrdiff_t, report::TuningHint>> found;
  for (const kernel::GeneMoves& gene : from.moves()) {
    const auto place = std::ranges::find(gene.limits, limit);
    const Value* value = config.find(gene.gene);
    if (place == gene.limits.end() || value == nullptr) continue;
    found.emplace_back(place - gene.limits.begin(), report::TuningHint{gene.gene, *value, {}});
  }
  std::ranges::stable_sort(found, {}, &std::pair<std::ptrdiff_t, report::TuningHint>::first);
  for (auto& [place, move] : found) next.moves.push_back(std::move(move));
  return next;
}

report::TuningHints next_moves(const db::Store& store, const db::TrialRow& trial,
                               const TuningTask& task, Bottleneck limit) {
  const Config config = Config::from_json(trial.config_json);
  report::TuningHints next = next_moves(task.template_of(config), config, limit);
  if (next.moves.empty()) return next;
  const Value& template_name = *config.find("template");
  const RunBeside run(store, trial);
  const AblationPlan plan(task, config, config, kNearestSeed);
  const auto& parameters = task.space.parts().parameters;
  for (report::TuningHint& move : next.moves) {
    const auto parameter = std::ranges::find(parameters, move.gene, &space::Parameter::name);
    if (parameter == parameters.end()) continue;
    for (report::AblationRow& row : plan.others(move.gene)) {
      if (!row.config) continue;
      report::HintOption& option = move.options.emplace_back();
      option.value = *row.wanted.front().to;
      option.also = std::move(row.also);
      option.config = std::move(*row.config);
      run.tell(move.gene, template_name, option);
    }
    std::ranges::stable_sort(move.options, {}, [&](const report::HintOption& option) {
      return std::pair(option.trial.has_value(), distance(*parameter, move.value, option.value));
    });
  }
  return next;
}

}  // namespace fa_tune::tuner
