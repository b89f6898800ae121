#include "engine/tuner/trial/duplicate_check.hpp"

#include <utility>

#include "engine/tuner/task/kernel_identity.hpp"
#include "engine/tuner/trial/trial.hpp"

namespace fa_tune::tuner {

DuplicateCheck::DuplicateCheck(const TuningTask& task, const std::vector<gate::GateCase>& cases)
    : task_(task), shapes_(shapes_of(*task.problem, cases)) {
  for (const Constants& shape : shapes_) scopes_.push_back(task.scope(shape));
}

DuplicateCheck::Plans DuplicateCheck::plan(const Config& config) const {
  const kernel::Template& from = task_.template_of(config);
  Plans plans;
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    auto planned = from.plan(config, scopes_[i]);
    if (!planned)
      return std::unexpected(planned.error() + " (" + fa_tune::to_json(shapes_[i]) + ")");
    plans->push_back(std::move(*planned));
  }
  return plans;
}

const DuplicateCheck::Plans& DuplicateCheck::plans(const Config& config) {
  const auto [place, is_new] = plans_.try_emplace(config.to_json());
  if (is_new) place->second = plan(config);
  return place->second;
}

void DuplicateCheck::keep(const Config& config, Plans plans) {
  plans_.try_emplace(config.to_json(), std::move(plans));
}

// Of a config that cannot be launched: one that is nobody's.
std::string DuplicateCheck::identity_of_source(const Config& config, const std::string& source_hash,
                                               const Plans& plans) const {
  if (!plans) return {};
  // Templates may share a source and have other compiler options.
  const std::string code = task_.template_of(config).name() + " " + source_hash;
  KernelIdentity identity;
  for (const PlannedLaunch& planned : *plans) identity.add_shape(code, planned);
  return identity.hash();
}

std::string DuplicateCheck::identity_of(Variant& variant) {
  const std::vector<PlannedLaunch>& planned = *plans(variant.config());
  KernelIdentity identity;
  for (std::size_t i = 0; i < shapes_.size(); ++i)
    identity.add_shape(variant.code_at(shapes_[i]), planned[i]);
  return identity.hash();
}

std::optional<std::int64_t> DuplicateCheck::find_source(const Config& config,
                                                        const std::string& source_hash) {
  const auto same = trials_of_source_.find(source_hash);
  if (same == trials_of_source_.end()) return std::nullopt;
  const std::string identity = identity_of_source(config, source_hash, plans(config));
  for (Remembered& trial : same->second) {
    if (!trial.identity) {
      const Config its = Config::from_json(trial.config_json);
      trial.identity = identity_of_source(its, source_hash, plan(its));
    }
    if (*trial.identity == identity) return trial.number;
  }
  return std::nullopt;
}

std::optional<std::int64_t> DuplicateCheck::find_identity(const std::string& identity) const {
  const auto found = trial_of_identity_.find(identity);
  return found == trial_of_identity_.end() ? std::nullopt : std::optional(found->second);
}

void DuplicateCheck::remember(const db::TrialRow& row) {
  plans_.erase(row.config_json);
  if (row.outcome == Outcome::duplicate) return;
  if (!row.source_hash.empty())
    trials_of_source_[row.source_hash].push_back({row.number, row.config_json});
  if (!row.identity.empty()) trial_of_identity_.try_emplace(row.identity, row.number);
}

}  // namespace fa_tune::tuner
