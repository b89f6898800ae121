#include "engine/scaffold/tuning_parameters.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "engine/scaffold/launch_geometry.hpp"

namespace fa_tune::scaffold {
namespace {

bool in_kernel(const Draft& draft, const std::vector<int>& lines) {
  const int last =
      draft.source.tokens()[std::min(draft.kernel.body.end, draft.source.tokens().size() - 1)].line;
  return std::ranges::any_of(lines,
                             [&](int line) { return line >= draft.kernel.line && line <= last; });
}

}  // namespace

void write_parameters(Draft& draft) {
  const auto add = [&](const std::string& name, bool is_bool, const std::string& where) {
    const auto macro = draft.source.source.open.find(name);
    const bool missing = macro != draft.source.source.open.end() && macro->second.missing;
    if (draft.is_parameter(name) || draft.size_macros.contains(name)) return;
    if (draft.fixed.contains(name) && !missing) return;
    GuessedParameter made{name, {}, {Remark::Kind::guessed, where}};
    if (is_bool) {
      made.values = draft.tunable[name] != 0 ? std::vector<std::string>{"true", "false"}
                                             : std::vector<std::string>{"false", "true"};
    } else {
      for (const std::int64_t value : draft.fixed.contains(name)
                                          ? std::vector<std::int64_t>{draft.tunable[name]}
                                          : values_around(name, draft.tunable[name]))
        made.values.push_back(std::to_string(value));
    }
    if (made.values.size() == 1)
      made.remark.text += ", and other values of which may compute something else";
    draft.made.parameters.push_back(std::move(made));
  };
  for (const GuessedValues& each : draft.launch_parameters) {
    GuessedParameter made{each.name, {}, {Remark::Kind::guessed, "threads of a block"}};
    if (draft.fixed.contains(each.name)) {
      draft.made.notes.push_back(
          fmt::format("a block has {} threads, as the number of results depends on it",
                      draft.tunable[each.name]));
      continue;
    }
    for (const std::int64_t value : each.values) made.values.push_back(std::to_string(value));
    draft.made.parameters.push_back(std::move(made));
  }
  for (const TemplateParameter& each : draft.kernel.template_parameters)
    if (!each.is_type && draft.tunable.contains(each.name))
      add(each.name, each.is_bool, "a template parameter");
  for (const auto& [name, macro] : draft.source.source.open)
    if (draft.source.source.names(name))
      add(name, macro.is_bool,
          macro.missing ? "the source leaves it open" : fmt::format("line {}", macro.line));
  for (const auto& [name, macro] : draft.source.source.open)
    if (macro.missing && draft.source.source.names(name) && !draft.size_macros.contains(name))
      draft.made.missing.emplace_back(name, draft.tunable[name]);
  for (const auto& [name, macro] : draft.source.source.closed)
    if (macro.number > 1 && macro.number <= 1024 && in_kernel(draft, macro.uses))
      draft.made.notes.push_back(
          fmt::format("{} (line {}) is a parameter where #ifndef {} and #endif are around it", name,
                      macro.line, name));
}

void write_constraints(Draft& draft) {
  const std::size_t blocks = block_dimensions(draft);
  std::string threads;
  bool tuned = false;
  for (std::size_t i = 0; i < blocks; ++i) {
    threads +=
        (i == 0 ? "" : " * ") + draft.algebra.text(draft.axes[i].block, draft.in_launch(false));
    for (const std::string& name : draft.algebra.names(draft.axes[i].block))
      tuned |= draft.is_parameter(name);
  }
  if (tuned && (blocks > 1 || draft.kernel.most_threads))
    draft.made.constraints.emplace_back(
        fmt::format("{} <= {}", threads,
                    std::min<std::int64_t>(1024, draft.kernel.most_threads.value_or(1024))),
        draft.kernel.most_threads ? "__launch_bounds__" : "a block has 1024 threads at most");
  for (std::size_t i = 0; i < 3; ++i) {
    const LaunchAxis& axis = draft.axes[i];
    if (!draft.use.axes[i].block || axis.covers == axis.block || axis.covers == Polynomial(1))
      continue;
    const std::string covers = draft.algebra.text(axis.covers, draft.in_launch(false));
    const std::string block = draft.algebra.text(axis.block, draft.in_launch(false));
    bool both = false;
    for (const std::string& name : draft.algebra.names(axis.block))
      both |=
          draft.is_parameter(name) && !std::ranges::count(draft.algebra.names(axis.covers), name);
    if (both)
      draft.made.constraints.emplace_back(fmt::format("({}) % ({}) == 0", covers, block),
                                          "guessed: threads share what a block covers");
  }
}

void write_names(Draft& draft) {
  draft.made.kernel = draft.made.reference_kernel = draft.kernel.name;
  if (draft.kernel.template_parameters.empty()) return;
  std::string names, values;
  for (const TemplateParameter& each : draft.kernel.template_parameters) {
    std::string value = each.type_otherwise;
    if (!each.is_type) {
      value = std::to_string(draft.tunable[each.name]);
      if (each.is_bool) value = draft.tunable[each.name] != 0 ? "true" : "false";
    }
    const bool tuned = !each.is_type && draft.is_parameter(each.name);
    names += (names.empty() ? "" : ", ") + (tuned ? each.name : value);
    values += (values.empty() ? "" : ", ") + value;
  }
  draft.made.kernel += "<" + names + ">";
  draft.made.reference_kernel += "<" + values + ">";
}

}  // namespace fa_tune::scaffold
