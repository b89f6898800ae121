#include "engine/tuner/comparison/known_best.hpp"

#include "engine/tuner/ablation/ablation_field.hpp"
#include "engine/util/random.hpp"

namespace fa_tune::tuner {

std::vector<KnownBest> compare_known_best(const TuningTask& task, device::Device& device,
                                          kernel::CompilePool& pool, const db::TrialRow& best,
                                          std::uint64_t seed) {
  if (task.space.known_best().empty()) return {};
  AblationField field(task, device, pool, derive_seed(seed, "known best"),
                      [](const std::string&) {});
  const Config own = Config::from_json(best.config_json);
  std::vector<Config> configs = {own};
  std::vector<report::AblationRow> rows;
  for (const space::Preset& known : task.space.known_best()) {
    configs.push_back(known.config);
    rows.emplace_back().config = known.config;
  }
  field.check(configs);
  std::vector<KnownBest> found;
  for (const space::Preset& known : task.space.known_best())
    found.push_back({.name = known.name, .ratio = {}, .message = {}});
  // With other inputs than those of the run the best may fail, which the finals are there to find.
  if (field.row(own).outcome != Outcome::passed) {
    for (KnownBest& each : found) each.message = "the run's best failed: " + field.row(own).message;
    return found;
  }
  std::vector<report::AblationRow*> to_compare;
  for (report::AblationRow& row : rows) to_compare.push_back(&row);
  field.compare(own, to_compare, derive_seed(seed, "known best race"));
  for (std::size_t i = 0; i < found.size(); ++i) {
    found[i].ratio = rows[i].ratio;
    if (!rows[i].ratio) found[i].message = rows[i].outcome + ": " + rows[i].rejection.message;
  }
  return found;
}

}  // namespace fa_tune::tuner
