#include "engine/tuner/ablation/ablation.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/core.h>

#include "engine/measure/process_series.hpp"
#include "engine/tuner/ablation/ablation_field.hpp"
#include "engine/tuner/ablation/ablation_plan.hpp"
#include "engine/util/error.hpp"
#include "engine/util/random.hpp"

namespace fa_tune::tuner {
namespace {

constexpr std::size_t kMostPaired = 4;  // genes

bool same_template(const Config& one, const Config& other) {
  const Value* own = one.find("template");
  const Value* others = other.find("template");
  return (own == nullptr) == (others == nullptr) && (own == nullptr || *own == *others);
}

void choose_baseline(report::Ablation& found, const TuningTask& task,
                     const AblationOptions& options) {
  std::string fitting;
  const space::Preset* chosen = nullptr;
  for (const space::Preset& preset : task.space.presets()) {
    if (!same_template(found.trial_config, preset.config)) continue;
    fitting += (fitting.empty() ? "" : ", ") + preset.name;
    if (chosen == nullptr && (options.baseline.empty() || preset.name == options.baseline))
      chosen = &preset;
  }
  if (chosen != nullptr) {
    found.baseline = chosen->name;
    found.baseline_config = chosen->config;
    return;
  }
  const Value* own = found.trial_config.find("template");
  const std::string of = own == nullptr ? "" : " of the template " + fa_tune::to_text(*own);
  if (!fitting.empty())
    throw UserError(
        fmt::format("--baseline '{}': expected a preset{}: {}", options.baseline, of, fitting));
  const std::string none = fmt::format("space '{}' has no preset{}", task.file.name, of);
  if (!options.baseline.empty()) throw UserError(none + ": leave out --baseline");
  if (!options.first)
    throw UserError(fmt::format(
        "{} to compare the trial with, and no trial{} passed before it: add a preset", none, of));
  found.baseline_trial = options.first->id;
  found.baseline = fmt::format("trial {}", options.first->id);
  found.baseline_config = Config::from_json(options.first->config_json);
}

std::vector<report::AblationRow*> pointers(std::vector<report::AblationRow>& rows) {
  std::vector<report::AblationRow*> list;
  for (report::AblationRow& row : rows) list.push_back(&row);
  return list;
}

void check(AblationField& field, const std::vector<report::AblationRow>& rows) {
  std::vector<Config> configs;
  for (const report::AblationRow& row : rows)
    if (row.config) configs.push_back(*row.config);
  field.check(configs);
}

// The genes that cost most when they go back, those that cost nothing for certain left out.
std::vector<std::string> strongest(const std::vector<report::AblationRow>& rows) {
  std::vector<const report::AblationRow*> strong;
  for (const report::AblationRow& row : rows)
    if (row.kind == report::AblationKind::back && row.ratio && row.verdict != "tie")
      strong.push_back(&row);
  std::ranges::stable_sort(strong, std::ranges::greater{}, [](const report::AblationRow* row) {
    return std::abs(std::log(row->ratio->value));
  });
  if (strong.size() > kMostPaired) strong.resize(kMostPaired);
  std::vector<std::string> genes;
  for (const report::AblationRow* row : strong) genes.push_back(row->wanted.front().gene);
  return genes;
}

// What the two genes' own ratios come to when multiplied, beside the pair's. Where others changed
// along with any of the three, the figures are not of these two genes and say nothing.
void add_product(report::AblationRow& pair, const std::vector<report::AblationRow>& rows) {
  if (!pair.also.empty()) return;
  Interval product{1, 1, 1};
  for (const report::GeneChange& change : pair.wanted) {
    const auto single = std::ranges::find_if(rows, [&](const report::AblationRow& row) {
      return row.kind == report::AblationKind::back && row.wanted.front().gene == change.gene;
    });
    if (single == rows.end() || !single->ratio || !single->also.empty()) return;
    product.value *= single->ratio->value;
    product.low *= single->ratio->low;
    product.high *= single->ratio->high;
  }
  pair.product = product;
  if (!pair.ratio) return;
  const Interval& own = *pair.ratio;
  constexpr double kLeast = 1 + measure::kLeastDifference;
  const auto end = [](double bound, const Interval& of) {
    return known_end(bound).value_or(of.value);
  };
  if (end(own.low, own) > end(product.high, product) * kLeast)
    pair.interaction = "more";
  else if (end(own.high, own) * kLeast < end(product.low, product))
    pair.interaction = "less";
  else
    pair.interaction = "as expected";
}

bool stands_before(const report::AblationRow& one, const report::AblationRow& other) {
  if (one.kind != other.kind) return one.kind < other.kind;
  if (one.ratio.has_value() != other.ratio.has_value()) return one.ratio.has_value();
  return one.ratio && one.ratio->value > other.ratio->value;
}

}  // namespace

std::optional<db::TrialRow> first_passed(const std::vector<db::TrialRow>& trials,
                                         const db::TrialRow& trial) {
  const Config own = Config::from_json(trial.config_json);
  for (const db::TrialRow& each : trials)
    if (each.outcome == Outcome::passed && same_template(own, Config::from_json(each.config_json)))
      return each.id == trial.id ? std::nullopt : std::optional(each);
  return std::nullopt;
}

report::Ablation ablate(const TuningTask& task, const db::TrialRow& trial, device::Device& device,
                        kernel::CompilePool& pool, const AblationOptions& options,
                        const std::function<void(const std::string&)>& say) {
  report::Ablation found;
  found.trial = trial.id;
  found.trial_config = Config::from_json(trial.config_json);
  choose_baseline(found, task, options);
  found.device_name = device.info().name;
  found.time_kind = to_text(device.info().times);
  found.seed = options.seed;

  const AblationPlan plan(task, found.trial_config, found.baseline_config, options.seed);
  std::vector<report::AblationRow> rows;
  std::vector<report::AblationRow> forward;
  if (!(found.trial_config == found.baseline_config)) rows.push_back(plan.whole_baseline());
  for (const std::string& gene : plan.differing()) {
    rows.push_back(plan.back({gene}));
    forward.push_back(plan.forward(gene));
  }
  if (options.all_genes)
    for (const std::string& gene : plan.alike())
      std::ranges::move(plan.others(gene), std::back_inserter(rows));

  say(fmt::format("trial {} beside {}: {} genes differ, {} are alike; {} variants", trial.id,
                  report::baseline_words(found), plan.differing().size(), plan.alike().size(),
                  rows.size() + forward.size()));
  device.note_incumbent(0);
  AblationField field(task, device, pool, options.seed, say);
  field.check({found.trial_config});
  const db::TrialRow& own = field.row(found.trial_config);
  if (own.outcome != Outcome::passed)
    throw UserError(fmt::format("trial {} fails now: {}: {}", trial.id, own.finding, own.message));
  found.time_us = own.screen_time.value().us.value;
  check(field, rows);
  check(field, forward);
  field.compare(found.trial_config, pointers(rows), derive_seed(options.seed, "back"));
  found.time_us = field.raced_us().value_or(found.time_us);

  std::vector<report::AblationRow> pairs;
  const auto genes = strongest(rows);
  for (std::size_t i = 0; i < genes.size(); ++i)
    for (std::size_t j = i + 1; j < genes.size(); ++j)
      pairs.push_back(plan.back({genes[i], genes[j]}));
  check(field, pairs);
  field.compare(found.trial_config, pointers(pairs), derive_seed(options.seed, "pairs"));
  for (report::AblationRow& pair : pairs) add_product(pair, rows);

  const bool baseline_stands =
      !forward.empty() && field.row(found.baseline_config).outcome == Outcome::passed;
  if (baseline_stands)
    field.compare(found.baseline_config, pointers(forward), derive_seed(options.seed, "forward"));

  std::ranges::move(rows, std::back_inserter(found.rows));
  std::ranges::move(pairs, std::back_inserter(found.rows));
  if (baseline_stands) std::ranges::move(forward, std::back_inserter(found.rows));
  std::ranges::stable_sort(found.rows, stands_before);
  return found;
}

}  // namespace fa_tune::tuner
