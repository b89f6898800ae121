#include "engine/tuner/ablation/ablation_plan.hpp"

#include <algorithm>

#include "engine/util/error.hpp"
#include "engine/util/random.hpp"

namespace fa_tune::tuner {
namespace {

constexpr const char* kTemplate = "template";

std::optional<Value> value_in(const Config& config, const std::string& gene) {
  const Value* value = config.find(gene);
  if (value == nullptr) return std::nullopt;
  return *value;
}

// All that `to` has otherwise than `from`, but for the genes in `wanted`.
std::vector<report::GeneChange> also_changed(const Config& from, const Config& to,
                                             const std::vector<report::GeneChange>& wanted) {
  std::vector<report::GeneChange> changes;
  const auto add = [&](const std::string& gene) {
    report::GeneChange change{gene, value_in(from, gene), value_in(to, gene)};
    if (change.from == change.to) return;
    if (std::ranges::find(wanted, gene, &report::GeneChange::gene) != wanted.end()) return;
    if (std::ranges::find(changes, gene, &report::GeneChange::gene) != changes.end()) return;
    changes.push_back(std::move(change));
  };
  for (const auto& [gene, value] : from.settings()) add(gene);
  for (const auto& [gene, value] : to.settings()) add(gene);
  return changes;
}

// The space's configs that have these values where they have these genes.
space::Space restricted(const space::Space& space,
                        const std::vector<std::pair<std::string, Value>>& values) {
  space::SpaceParts parts = space.parts();
  parts.presets.clear();
  for (space::Parameter& parameter : parts.parameters)
    for (const auto& [gene, value] : values)
      if (parameter.name == gene) parameter.values = {value};
  return space::Space::build(std::move(parts));
}

}  // namespace

AblationPlan::AblationPlan(const TuningTask& task, Config trial, Config baseline,
                           std::uint64_t seed)
    : task_(task), trial_(std::move(trial)), baseline_(std::move(baseline)), seed_(seed) {
  for (const auto& [gene, value] : trial_.settings()) {
    const Value* other = baseline_.find(gene);
    if (gene == kTemplate || other == nullptr) continue;
    (*other == value ? alike_ : differing_).push_back(gene);
  }
}

report::AblationRow AblationPlan::whole_baseline() const {
  report::AblationRow row;
  row.kind = report::AblationKind::baseline;
  row.config = baseline_;
  row.wanted = also_changed(trial_, baseline_, {});
  return row;
}

report::AblationRow AblationPlan::back(const std::vector<std::string>& genes) const {
  Settings wanted;
  for (const std::string& gene : genes) wanted.emplace_back(gene, *baseline_.find(gene));
  return changed(genes.size() > 1 ? report::AblationKind::pair : report::AblationKind::back, trial_,
                 baseline_, wanted);
}

report::AblationRow AblationPlan::forward(const std::string& gene) const {
  return changed(report::AblationKind::forward, baseline_, trial_, {{gene, *trial_.find(gene)}});
}

std::vector<report::AblationRow> AblationPlan::others(const std::string& gene) const {
  std::vector<report::AblationRow> rows;
  const auto& parameters = task_.space.parts().parameters;
  const auto parameter = std::ranges::find(parameters, gene, &space::Parameter::name);
  if (parameter == parameters.end()) return rows;
  for (const Value& value : parameter->values)
    if (value != *trial_.find(gene) && value_in(baseline_, gene) != value)
      rows.push_back(changed(report::AblationKind::other, trial_, baseline_, {{gene, value}}));
  return rows;
}

report::AblationRow AblationPlan::changed(report::AblationKind kind, const Config& from,
                                          const Config& fill, const Settings& wanted) const {
  report::AblationRow row;
  row.kind = kind;
  Config direct = from;
  for (const auto& [gene, value] : wanted) {
    row.wanted.push_back({gene, value_in(from, gene), value});
    direct.set(gene, value);
  }
  const auto why = task_.space.why_invalid(direct);
  if (!why) {
    row.config = std::move(direct);
    return row;
  }
  row.because = *why;
  // Genes that come with the change take the values of the other config, if that has them.
  Config wish = direct;
  for (const auto& [gene, value] : fill.settings())
    if (wish.find(gene) == nullptr) wish.set(gene, value);
  Settings fixed = wanted;
  if (const Value* name = from.find(kTemplate)) fixed.emplace_back(kTemplate, *name);
  row.outcome = "impossible";
  try {
    Random random(derive_seed(seed_, "nearest " + direct.to_json()));
    Config nearest = restricted(task_.space, fixed).nearest(wish, random);
    for (const auto& [gene, value] : wanted)
      if (value_in(nearest, gene) != value) return row;
    row.config = std::move(nearest);
  } catch (const UserError&) {
    return row;  // no config is valid with these values: `because` says what they break
  }
  row.outcome.clear();
  row.also = also_changed(from, *row.config, row.wanted);
  return row;
}

}  // namespace fa_tune::tuner
