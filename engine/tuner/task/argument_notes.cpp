#include "engine/tuner/task/argument_notes.hpp"

#include <algorithm>

#include <fmt/core.h>
#include <fmt/ranges.h>

namespace fa_tune::tuner {
namespace {

using Notes = report::ArgumentNotes;

std::string note_of(const Notes& notes, const std::string& name) {
  const auto found = std::ranges::find(notes, name, &Notes::value_type::first);
  return found == notes.end() ? "" : found->second;
}

std::string axis_text(const MapAxis& axis) {
  if (axis.modulo > 0) return fmt::format("{} % {}", axis.letter, axis.modulo);
  return axis.divisor == 1 ? std::string(1, axis.letter)
                           : fmt::format("{} / {}", axis.letter, axis.divisor);
}

std::string map_note(const MappedTensor& map, const Notes& notes) {
  std::vector<std::string> axes;
  for (const MapAxis& axis : map.axes) axes.push_back(axis_text(axis));
  return fmt::format(
      "128 bytes by value, a tensor map of {} ({}){}: box {}, swizzle of {} bytes", map.tensor,
      note_of(notes, map.tensor),
      axes.empty() ? "" : ", innermost first " + fmt::format("{}", fmt::join(axes, ", ")),
      fmt::join(map.box, " x "), map.swizzle_bytes);
}

std::string workspace_note(const PlannedWorkspace& workspace) {
  return fmt::format("the workspace of {} [{}]", type_name(workspace.type),
                     fmt::join(workspace.dims, ", "));
}

std::string scalar_note(const PlannedScalar& scalar) {
  const std::string value = is_integer(scalar.type)
                                ? integer_text(get_integer(scalar.type, scalar.bytes.data()))
                                : fmt::format("{}", get_number(scalar.type, scalar.bytes.data()));
  return fmt::format("{}, {} for this config", type_name(scalar.type), value);
}

// `kernel` has arguments and maps.
Notes notes_of(const auto& kernel, const PlannedLaunch& planned, const Notes& known) {
  Notes notes;
  for (const std::string& name : kernel.arguments) {
    const auto map = std::ranges::find(kernel.maps, name, &MappedTensor::argument);
    const auto own = std::ranges::find(planned.workspaces, name, &PlannedWorkspace::name);
    const auto scalar = std::ranges::find(planned.scalars, name, &PlannedScalar::name);
    if (map != kernel.maps.end())
      notes.emplace_back(name, map_note(*map, known));
    else if (own != planned.workspaces.end())
      notes.emplace_back(name, workspace_note(*own));
    else if (scalar != planned.scalars.end())
      notes.emplace_back(name, scalar_note(*scalar));
    else
      notes.emplace_back(name, note_of(known, name));
  }
  return notes;
}

}  // namespace

void add_launch(const kernel::Template& from, const problem::Problem& problem,
                const Constants& shape, const Constants& scope, report::ExportFacts& facts) {
  const Notes known = problem.argument_notes(shape);
  PlannedLaunch planned = from.require_plan(facts.config, scope);
  facts.launch = planned.config;
  facts.arguments = notes_of(planned, planned, known);
  for (const std::string& name : problem.constant_names())
    facts.arguments.emplace_back(name, note_of(known, name));
  const std::vector<std::string> names = from.kernels(facts.config);
  for (const PlannedStep& step : planned.steps) {
    report::StepFacts& one = facts.steps.emplace_back(step);
    const auto* kernel = std::get_if<PlannedKernel>(&step);
    if (kernel == nullptr) continue;
    one.kernel = names.at(kernel->entry);
    one.arguments = notes_of(*kernel, planned, known);
  }
  facts.workspaces = std::move(planned.workspaces);
}

}  // namespace fa_tune::tuner
