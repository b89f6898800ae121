#include "engine/scaffold/shapes.hpp"

#include <algorithm>
#include <set>

namespace fa_tune::scaffold {
namespace {

// What a shape depends on cannot be tuned, as each config is to compute the same: a macro becomes a
// size of the problem; what the launch or the template chooses keeps its default.
void hold_names_of(Draft& draft, const Polynomial& shape) {
  for (const std::string& name : draft.algebra.names(shape)) {
    if (!draft.tunable.contains(name)) continue;
    bool of_launch = std::ranges::any_of(
        draft.launch_parameters, [&](const GuessedValues& each) { return each.name == name; });
    for (const LaunchAxis& axis : draft.axes)
      of_launch |= axis.block.names(name) || axis.covers.names(name);
    const bool is_macro = draft.source.source.open.contains(name);
    if (of_launch || !is_macro)
      draft.fixed.insert(name);
    else
      draft.size_macros.insert(name);
  }
}

// The last block may reach beyond the end of a buffer, and so may a bound: terms that name what the
// launch chooses are left out where they are a small part of it.
Bound without_overhang(const Draft& draft, const Bound& shape) {
  if (!shape) return shape;
  Bound rest = Polynomial();
  bool changed = false;
  for (const auto& [names, factor] : shape->terms()) {
    Bound term = Polynomial(factor);
    bool overhang = false;
    for (const std::string& name : names) {
      term = draft.algebra.product(term, Polynomial(name));
      for (const LaunchAxis& axis : draft.axes)
        overhang |= axis.block.names(name) || axis.covers.names(name);
    }
    changed |= overhang;
    if (!overhang) rest = draft.algebra.sum(rest, term);
  }
  if (!changed || !rest) return shape;
  const double whole = draft.algebra.at(*shape, draft.default_value());
  const double kept = draft.algebra.at(*rest, draft.default_value());
  return kept > 0.75 * whole && kept < 1.25 * whole ? rest : shape;
}

// How many sizes are multiplied in the shapes that name this one, at most: 2 of rows * columns.
std::size_t degree(const Draft& draft, const std::string& name) {
  std::size_t most = 0;
  for (const auto& [of, shape] : draft.shapes) {
    if (!shape) continue;
    for (const auto& [names, factor] : shape->terms())
      if (std::ranges::find(names, name) != names.end())
        most = std::max(
            most, static_cast<std::size_t>(std::ranges::count_if(names, [&](const auto& each) {
              return draft.is_scalar(each) || each == name || draft.size_macros.contains(each);
            })));
  }
  return most;
}

// Only a kernel that looks where its data ends takes other sizes.
bool takes_ragged_sizes(const Draft& draft) {
  bool guarded = true, any = false;
  for (std::size_t i = 0; i < 3; ++i) {
    if (!draft.use.axes[i].block) continue;
    guarded = guarded && (draft.axes[i].guarded || draft.axes[i].covers == Polynomial(1));
    any = true;
  }
  for (const auto& [name, shape] : draft.shapes)
    if (shape && draft.algebra.text(*shape, [](const auto& each) { return each; }).find(" / ") !=
                     std::string::npos)
      guarded = false;
  return guarded && any;
}

}  // namespace

void choose_shapes(Draft& draft) {
  Bound widest;
  for (const KernelParameter& each : draft.kernel.parameters) {
    if (!each.pointer) continue;
    const Bound shape =
        without_overhang(draft, draft.largest(draft.use.buffers[each.name].extents));
    draft.shapes[each.name] = shape;
    if (shape && (!widest || draft.algebra.at(*shape, draft.default_value()) >
                                 draft.algebra.at(*widest, draft.default_value())))
      widest = shape;
  }
  draft.widest = widest;
  for (const ConstantVariable& each : draft.source.constants)
    if (draft.use.words.contains(each.name)) {
      Bound all = Polynomial(1);
      IndexScope scope;
      for (const auto& [name, number] : draft.source.numbers)
        scope.variables[name] = exactly(Polynomial(number));
      for (const auto& [name, number] : draft.tunable)
        scope.variables[name] = exactly(Polynomial(name));
      for (const Part& part : each.sizes)
        all = draft.algebra.product(
            all, IndexReader(draft.source.tokens(), scope, draft.algebra).read(part).high);
      draft.shapes[each.name] = all;
    }
  for (const auto& [name, shape] : draft.shapes)
    if (shape) hold_names_of(draft, *shape);
  for (const LaunchAxis& axis : draft.axes)
    if (axis.extent)
      for (const std::string& name : draft.algebra.names(*axis.extent))
        if (draft.source.source.open.contains(name)) draft.size_macros.insert(name);
  for (const std::string& name : draft.size_macros) draft.fixed.erase(name);
}

void choose_sizes(Draft& draft) {
  std::set<std::string> used;
  for (const auto& [name, shape] : draft.shapes)
    if (shape)
      for (const std::string& each : draft.algebra.names(*shape)) used.insert(each);
  for (const LaunchAxis& axis : draft.axes)
    if (axis.extent)
      for (const std::string& each : draft.algebra.names(*axis.extent)) used.insert(each);
  for (const std::string& each : draft.use.in_bounds) used.insert(each);
  const auto add = [&](const std::string& name, bool is_define) {
    if (draft.is_size(name)) return;
    GuessedSize size{name, 0, 0, is_define};
    static constexpr std::array<std::int64_t, 4> kTimed = {1 << 20, 1 << 20, 1024, 128};
    static constexpr std::array<std::int64_t, 4> kRagged = {1000, 1000, 100, 33};
    const auto axes = static_cast<std::size_t>(
        std::ranges::count_if(draft.use.axes, [](const auto& each) { return each.block; }));
    const std::size_t power = std::clamp<std::size_t>(degree(draft, name), axes, 3);
    size.timed = is_define ? draft.tunable.at(name) : kTimed[power];
    size.ragged = is_define ? size.timed : kRagged[power];
    if (name == "nnz") size.timed = 1 << 20;
    draft.made.sizes.push_back(size);
  };
  for (const KernelParameter& each : draft.kernel.parameters)
    if (!each.pointer && is_integer_type(each.type) && used.contains(each.name))
      add(each.name, false);
  for (const std::string& name : draft.own_sizes) add(name, false);
  for (const std::string& name : draft.size_macros) add(name, true);
  for (const auto& [name, buffer] : draft.use.buffers)
    if (buffer.offsets_to) add(*buffer.offsets_to, false);
  if (draft.made.sizes.empty()) draft.made.sizes.push_back({draft.fresh_name("n"), 1, 0, false});
  const bool ragged = takes_ragged_sizes(draft);
  if (!ragged)
    for (GuessedSize& each : draft.made.sizes) each.ragged = 0;
  if (draft.made.sizes.size() == 1 && draft.made.sizes[0].timed == 1)
    draft.made.sizes_remark = {Remark::Kind::guessed, "its sizes stand in the source"};
  else
    draft.made.sizes_remark = {Remark::Kind::guessed,
                               ragged ? "the first is timed, all are checked"
                                      : "it has no guard for other sizes than multiples"};
}

}  // namespace fa_tune::scaffold
