#include "engine/tuner/trial/duplicate_check.hpp"

#include "engine/tuner/task/kernel_identity.hpp"

namespace fa_tune::tuner {
namespace {

std::optional<std::int64_t> find(const std::map<std::string, std::int64_t>& trials,
                                 const std::string& key) {
  const auto found = trials.find(key);
  return found == trials.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

DuplicateCheck::DuplicateCheck(const TuningTask& task, const std::vector<gate::GateCase>& cases)
    : task_(task), shapes_(shapes_of(*task.problem, cases)) {}

std::expected<std::vector<PlannedLaunch>, std::string> DuplicateCheck::plans(
    const Config& config) const {
  const kernel::Template& from = task_.template_of(config);
  std::vector<PlannedLaunch> plans;
  for (const Constants& shape : shapes_) {
    auto planned = from.plan(config, task_.scope(shape));
    if (!planned) return std::unexpected(planned.error() + " (" + fa_tune::to_json(shape) + ")");
    plans.push_back(std::move(*planned));
  }
  return plans;
}

std::string DuplicateCheck::identity_of_source(const Config& config, const std::string& source_hash,
                                               const std::vector<PlannedLaunch>& plans) const {
  // Templates may share a source and have other compiler options.
  const std::string code = task_.template_of(config).name() + " " + source_hash;
  KernelIdentity identity;
  for (const PlannedLaunch& planned : plans) identity.add_shape(code, planned);
  return identity.hash();
}

std::string DuplicateCheck::identity_of(Variant& variant,
                                        const std::vector<PlannedLaunch>& plans) const {
  KernelIdentity identity;
  for (std::size_t i = 0; i < shapes_.size(); ++i)
    identity.add_shape(variant.code_at(shapes_[i]), plans[i]);
  return identity.hash();
}

std::optional<std::int64_t> DuplicateCheck::find_source(
    const Config& config, const std::string& source_hash,
    const std::vector<PlannedLaunch>& plans) const {
  return find(trial_of_source_, identity_of_source(config, source_hash, plans));
}

std::optional<std::int64_t> DuplicateCheck::find_identity(const std::string& identity) const {
  return find(trial_of_identity_, identity);
}

void DuplicateCheck::remember(const db::TrialRow& row) {
  if (row.outcome == Outcome::duplicate) return;
  const Config config = Config::from_json(row.config_json);
  if (const auto planned = plans(config); planned && !row.source_hash.empty())
    trial_of_source_.try_emplace(identity_of_source(config, row.source_hash, *planned), row.number);
  if (!row.identity.empty()) trial_of_identity_.try_emplace(row.identity, row.number);
}

}  // namespace fa_tune::tuner
