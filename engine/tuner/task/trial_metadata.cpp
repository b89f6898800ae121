#include "engine/tuner/task/trial_metadata.hpp"

#include <fmt/core.h>

#include "engine/tuner/task/argument_notes.hpp"
#include "engine/tuner/task/tuning_task.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::tuner {

report::ExportFacts trial_facts(const db::Store& store, std::int64_t trial,
                                const std::filesystem::path& root, const std::string& version) {
  report::ExportFacts facts = report::export_facts(store, trial);
  if (facts.verdict != to_text(Outcome::passed))
    throw UserError(fmt::format("trial {} did not pass ({}): it is neither exported nor profiled",
                                facts.trial, facts.verdict));
  const auto run = store.run(facts.run);
  const TuningTask task = open_stored_task(*run, root);
  const kernel::Template& from = task.template_of(facts.config);
  const Constants& shape = task.problem->shape();
  facts.version = version;
  facts.template_name = from.name();
  facts.arch = from.arch_on(facts.arch).value_or(from.arch());
  facts.manifest_text = from.manifest_text();
  facts.kernel = from.render(facts.config, task.problem->defines(shape)).kernel;
  facts.settings = task.file.problem_settings;
  add_launch(from, *task.problem, shape, task.scope(shape), facts);
  return facts;
}

}  // namespace fa_tune::tuner
