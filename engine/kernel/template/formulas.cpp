#include "engine/kernel/template/formulas.hpp"

#include <algorithm>
#include <map>

#include "engine/kernel/template/template.hpp"
#include "engine/util/error.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::kernel {

using expression::Expression;
using expression::Residue;

DerivedResidues::DerivedResidues(const Config& config, const Constants& constants,
                                 std::vector<std::string> later)
    : config_(config), constants_(constants), later_(std::move(later)) {}

void DerivedResidues::add(const std::vector<space::Derived>& derived,
                          const std::string& template_name) {
  for (const space::Derived& value : derived) {
    if (!value.only_for.empty() && value.only_for != template_name) continue;
    if (has_values(value.expression))
      values_.insert_or_assign(value.name, Residue::of(value.expression, names()));
  }
}

std::optional<Residue> DerivedResidues::find(const std::string& name) const {
  if (const auto at = values_.find(name); at != values_.end()) return at->second;
  if (const Value* value = config_.find(name)) return Residue::of(*value);
  if (std::ranges::find(later_, name) != later_.end())
    return Residue::later(name.substr(name.find('.') + 1));
  const auto at = constants_.find(name);
  return at == constants_.end() ? std::nullopt : std::optional(Residue::of(at->second));
}

bool DerivedResidues::has_values(const Expression& expression) const {
  return std::ranges::all_of(expression.names(),
                             [this](const std::string& name) { return find(name).has_value(); });
}

std::vector<Residue> DerivedResidues::required(const std::vector<space::Constraint>& constraints,
                                               const std::string& template_name) const {
  std::vector<Residue> all;
  for (const space::Constraint& constraint : constraints) {
    if (!constraint.only_for.empty() && constraint.only_for != template_name) continue;
    if (!has_values(constraint.expression)) continue;
    Residue left = Residue::of(constraint.expression, names());
    if (left.value() == nullptr) all.push_back(std::move(left));
  }
  return all;
}

LaunchFormulas Template::formulas(const Config& config, const DerivedResidues& given) const {
  DerivedResidues known = given;
  for (const auto& [name, value] : optional_)
    if (config.find(name) == nullptr) known.set(name, Residue::of(value));
  known.add(derived_, name_);
  const auto of = [&](const Expression& expression) {
    return Residue::of(expression, known.names());
  };
  // What is launched with what must not rest on sizes.
  const auto holds = [&](const std::optional<Expression>& when) {
    if (!when) return true;
    const Residue left = of(*when);
    if (left.value() == nullptr)
      throw UserError(prefix(when->mark()) +
                      "when: which kernels or arguments there are rests on sizes");
    return std::get<bool>(*left.value());
  };
  const auto three = [&](const std::vector<Expression>& sizes) {
    std::vector<Residue> all;
    for (const Expression& size : sizes) all.push_back(of(size));
    all.resize(3, Residue::of(std::int64_t{1}));
    return all;
  };
  LaunchFormulas made;
  std::vector<std::string> taken;
  for (const Step& step : steps_) {
    const auto* kernel = std::get_if<Kernel>(&step.does);
    if (!holds(step.when) || kernel == nullptr) continue;
    for (const Argument& argument : kernel->arguments)
      if (holds(argument.when)) taken.push_back(argument.name);
    for (const Map& map : kernel->maps) {
      if (std::ranges::find(taken, map.argument) == taken.end()) continue;
      std::vector<Expression> parts = map.box;
      for (const Axis& axis : map.axes) parts.insert(parts.end(), axis.by.begin(), axis.by.end());
      for (const Expression& part : parts)
        if (of(part).value() == nullptr)
          throw UserError(prefix(part.mark()) + "maps: the box of a tensor map rests on sizes");
    }
    made.kernels.push_back(
        {three(kernel->grid), three(kernel->block), three(kernel->cluster),
         kernel->shared.empty() ? Residue::of(std::int64_t{0}) : of(kernel->shared.front())});
    if (const auto& tiles = kernel->tiles) {
      const Residue::Names with_tile = [&](const std::string& name) {
        return name == kTileNumber ? std::optional(Residue::later(name)) : known.find(name);
      };
      made.kernels.back().tiles = {
          of(tiles->sets), tiles->together ? of(*tiles->together) : Residue::of(std::int64_t{1}),
          of(tiles->of_a_set), Residue::of(tiles->steps, with_tile)};
    }
  }
  for (const Workspace& workspace : workspaces_) {
    auto& dims = made.workspaces.emplace_back(workspace.name, std::vector<Residue>()).second;
    for (const Expression& size : workspace.shape) dims.push_back(of(size));
  }
  for (const Scalar& scalar : scalars_)
    if (scalar.value.whole.formula && std::ranges::find(taken, scalar.name) != taken.end())
      made.scalars.emplace_back(scalar.name, of(*scalar.value.whole.formula));
  made.required = known.required(requirements_, name_);
  return made;
}

}  // namespace fa_tune::kernel
