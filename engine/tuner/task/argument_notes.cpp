#include "engine/tuner/task/argument_notes.hpp"

#include <algorithm>

#include <fmt/core.h>
#include <fmt/ranges.h>

namespace fa_tune::tuner {
namespace {

using Notes = std::vector<std::pair<std::string, std::string>>;

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

}  // namespace

Notes argument_notes(const kernel::Template& from, const Config& config,
                     const problem::Problem& problem, const Constants& shape,
                     const Constants& scope) {
  const Notes known = problem.argument_notes(shape);
  const PlannedLaunch planned = from.require_plan(config, scope);
  const std::vector<MappedTensor>& maps = planned.maps;
  Notes notes;
  for (const std::string& name : planned.arguments) {
    const auto map = std::ranges::find(maps, name, &MappedTensor::argument);
    notes.emplace_back(name, map == maps.end() ? note_of(known, name) : map_note(*map, known));
  }
  for (const std::string& name : problem.constant_names())
    notes.emplace_back(name, note_of(known, name));
  return notes;
}

}  // namespace fa_tune::tuner
