#include "engine/tuner/task/tuning_task.hpp"

#include <algorithm>

#include "engine/space/space_parts.hpp"
#include "engine/space_file/space_settings.hpp"
#include "engine/tuner/task/make_problem.hpp"
#include "engine/tuner/task/variant.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::tuner {
namespace {

void require_parameters(const space::SpaceFile& file, const kernel::Template& wanted,
                        const Mark& mark) {
  for (const std::string& name : wanted.parameters()) {
    const bool known = std::ranges::any_of(
        file.parameters, [&](const space::Parameter& parameter) { return parameter.name == name; });
    if (!known)
      throw UserError(prefix(mark) + "template '" + wanted.name() + "' needs the parameter '" +
                      name + "': add it under 'parameters'");
  }
}

// What an option may be is known with the values that a space has for its parameter.
void require_options(const space::SpaceFile& file, const kernel::Template& of) {
  for (const space::Parameter& parameter : file.parameters)
    for (const Value& value : parameter.values) of.require_option_value(parameter.name, value);
}

// A manifest within the space leaves out what goes without saying there.
kernel::Template load_template(const space::SpaceFile& file, const std::string& name,
                               const std::string& manifest, const problem::Problem& problem,
                               const std::filesystem::path& root) {
  if (const auto own = file.own_templates.find(name); own != file.own_templates.end()) {
    kernel::Template::Given given{problem.kind(), {}, problem.argument_names()};
    for (const space::Parameter& parameter : file.parameters)
      if (parameter.name != space::kTemplateParameter) given.parameters.push_back(parameter.name);
    auto made =
        kernel::Template::written_out(name, own->second.manifest, own->second.cuda_text, given);
    const auto lines = file.source_lines.find(made.source_name());
    if (lines != file.source_lines.end()) made.locate(lines->second);
    return made;
  }
  // A space's text may be a stranger's: a manifest is one of those that are shipped.
  const std::filesystem::path within = manifest;
  if (within.is_absolute() || std::ranges::find(within, "..") != within.end())
    throw UserError(prefix(file.template_marks.at(name)) + "template '" + name +
                    "': " + quote_text(manifest) + " is no path within kernel_templates");
  const std::filesystem::path path = root / "kernel_templates" / within;
  if (!std::filesystem::is_regular_file(path))
    throw UserError(prefix(file.template_marks.at(name)) + "template '" + name +
                    "': there is no kernel_templates/" + manifest);
  return kernel::Template::load(name, path);
}

// Those that are meant for this problem.
std::vector<space::Preset> presets_for(const Constants& constants,
                                       const std::vector<space::Preset>& all) {
  const auto find = [&](const std::string& name) -> const Value* {
    const auto at = constants.find(name);
    return at == constants.end() ? nullptr : &at->second;
  };
  std::vector<space::Preset> presets;
  for (const space::Preset& preset : all)
    if (!preset.when || preset.when->evaluate_bool(find)) presets.push_back(preset);
  return presets;
}

}  // namespace

Constants scope_of(const device::DeviceProfile& target, const Constants& shape) {
  Constants constants;
  for (const auto& [name, value] : target.facts()) constants["device." + name] = value;
  for (const auto& [name, value] : shape) constants["problem." + name] = value;
  return constants;
}

const kernel::Template& TuningTask::template_of(const Config& config) const {
  const Value* name = config.find("template");
  for (const kernel::Template& candidate : templates)
    if (name != nullptr && Value(candidate.name()) == *name) return candidate;
  throw UserError("config " + config.to_json() + ": names no template of space '" + file.name +
                  "'");
}

Constants TuningTask::scope(const Constants& shape) const {
  return scope_of(target, problem->complete(shape));
}

std::vector<std::string> TuningTask::idle_parameters() const {
  // One that decides which others there are reaches the kernel by these.
  const auto decides = [this](const std::string& name) {
    return std::ranges::any_of(file.parameters, [&](const space::Parameter& other) {
      return other.when &&
             std::ranges::find(other.when->names(), name) != other.when->names().end();
    });
  };
  std::vector<std::string> lines;
  for (const kernel::Template& each : templates)
    for (const std::string& name : each.parameters()) {
      const auto found = std::ranges::find(file.parameters, name, &space::Parameter::name);
      if (found == file.parameters.end() || found->values.size() < 2 || each.uses(name) ||
          decides(name))
        continue;
      lines.push_back(prefix(found->mark) + "parameter " + name +
                      " reaches no kernel of template '" + each.name() +
                      "': neither its source nor its launch names it; use it there or remove it");
    }
  return lines;
}

std::unique_ptr<Variant> make_variant(const TuningTask& task, const kernel::Template& from,
                                      const Config& config, kernel::CompilePool& pool,
                                      device::Device& device) {
  return std::make_unique<Variant>(
      from, *task.problem, [&task](const Constants& shape) { return task.scope(shape); }, config,
      pool, device);
}

std::unique_ptr<Variant> make_variant(const TuningTask& task, const Config& config,
                                      kernel::CompilePool& pool, device::Device& device) {
  return make_variant(task, task.template_of(config), config, pool, device);
}

space::SpaceFile stored_space(const db::RunRow& run) {
  return space::parse_space_file(run.space_text, run.space + " (as stored with the run)");
}

TuningTask open_stored_task(const db::RunRow& run, const std::filesystem::path& root) {
  return open_task(stored_space(run), root);
}

TuningTask open_task(space::SpaceFile file, const std::filesystem::path& root) {
  device::DeviceProfile target;
  if (file.target == space::kAutoTarget)
    throw UserError(prefix(file.target_mark) +
                    "target: auto is the device of a search; name a profile here");
  try {
    target = device::load_profile(file.target, root);
  } catch (const UserError& error) {
    throw UserError(prefix(file.target_mark) + "target: " + error.what());
  }
  auto problem = make_problem(file.problem_kind, file.problem_settings, prefix(file.problem_mark));
  problem->locate(file.source_lines);

  space::SpaceParts parts;
  parts.name = file.name;
  parts.parameters = file.parameters;
  parts.derived = file.derived;
  parts.constraints = file.constraints;
  parts.constants = scope_of(target, problem->complete(problem->shape()));
  parts.presets = presets_for(parts.constants, file.presets);
  parts.known_best = presets_for(parts.constants, file.known_best);
  std::vector<kernel::Template> templates;
  for (const auto& [name, manifest] : file.templates) {
    const Mark& mark = file.template_marks.at(name);
    kernel::Template loaded = load_template(file, name, manifest, *problem, root);
    if (loaded.problem() != problem->kind())
      throw UserError(prefix(mark) + "template '" + name + "' solves '" + loaded.problem() +
                      "', but the space's problem is '" + problem->kind() + "'");
    if (!loaded.arch_on(target.arch))
      throw UserError(prefix(mark) + "template '" + name + "' is for " + loaded.arch() +
                      (loaded.arch().ends_with('a') ? "" : " and newer") + ", but the target '" +
                      file.target + "' is " + target.arch);
    require_parameters(file, loaded, mark);
    require_options(file, loaded);
    loaded.require_no_conditions();
    if (auto names = problem->argument_names(); !names.empty()) {
      // What fills a `__constant__` variable may be an argument too.
      for (const std::string& each : problem->constant_names()) names.push_back(each);
      loaded.require_known(names);
    }
    for (const auto& [parameter, otherwise] : loaded.optional()) {
      const bool given = std::ranges::find(file.parameters, parameter, &space::Parameter::name) !=
                         file.parameters.end();
      if (!given) parts.constants.emplace(parameter, otherwise);
    }
    const auto& derived = loaded.derived();
    const auto& requirements = loaded.requirements();
    // A template's own derived values come first, so that the space's may use them.
    parts.derived.insert(parts.derived.begin(), derived.begin(), derived.end());
    parts.constraints.insert(parts.constraints.end(), requirements.begin(), requirements.end());
    templates.push_back(std::move(loaded));
  }
  std::vector<std::string> names;
  for (const space::Parameter& parameter : file.parameters) names.push_back(parameter.name);
  for (const space::Derived& value : file.derived) names.push_back(value.name);
  for (const auto& [name, value] : parts.constants) names.push_back(name);
  for (const kernel::Template& each : templates) each.require_names(names);
  space::Space space = space::Space::build(std::move(parts));
  return {root,
          std::move(file),
          std::move(target),
          std::move(problem),
          std::move(templates),
          std::move(space)};
}

}  // namespace fa_tune::tuner
