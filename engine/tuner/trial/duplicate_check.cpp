#include "engine/tuner/trial/duplicate_check.hpp"

#include "engine/tuner/task/kernel_identity.hpp"
#include "engine/tuner/trial/trial.hpp"

namespace fa_tune::tuner {
namespace {

std::optional<std::int64_t> find(const std::map<std::string, std::int64_t>& trials,
                                 const std::string& key) {
  const auto found = trials.find(key);
  return found == trials.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

DuplicateCheck::DuplicateCheck(const TuningTask& task, const std::vector<gate::GateCase>& cases)
    : task_(task), shapes_(shapes_of(*task.problem, cases)) {
  for (const Constants& shape : shapes_) scopes_.push_back(task.scope(shape));
}

DuplicateCheck::Known& DuplicateCheck::known(const Config& config) {
  const auto [place, is_new] = known_.try_emplace(config.to_json());
  Known& known = place->second;
  if (!is_new) return known;
  const kernel::Template& from = task_.template_of(config);
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    auto planned = from.plan(config, scopes_[i]);
    if (!planned) {
      known.plans = std::unexpected(planned.error() + " (" + fa_tune::to_json(shapes_[i]) + ")");
      break;
    }
    known.plans->push_back(std::move(*planned));
  }
  return known;
}

const DuplicateCheck::Plans& DuplicateCheck::plans(const Config& config) {
  return known(config).plans;
}

const std::string& DuplicateCheck::identity_of_source(const Config& config,
                                                      const std::string& source_hash) {
  Known& known = this->known(config);
  if (!known.of_source.empty()) return known.of_source;
  // Templates may share a source and have other compiler options.
  const std::string code = task_.template_of(config).name() + " " + source_hash;
  KernelIdentity identity;
  for (const PlannedLaunch& planned : *known.plans) identity.add_shape(code, planned);
  return known.of_source = identity.hash();
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
  return find(trial_of_source_, identity_of_source(config, source_hash));
}

std::optional<std::int64_t> DuplicateCheck::find_identity(const std::string& identity) const {
  return find(trial_of_identity_, identity);
}

void DuplicateCheck::remember(const db::TrialRow& row) {
  const Config config = Config::from_json(row.config_json);
  if (row.outcome != Outcome::duplicate) {
    if (plans(config) && !row.source_hash.empty())
      trial_of_source_.try_emplace(identity_of_source(config, row.source_hash), row.number);
    if (!row.identity.empty()) trial_of_identity_.try_emplace(row.identity, row.number);
  }
  known_.erase(config.to_json());
}

}  // namespace fa_tune::tuner
