#include <algorithm>

#include "engine/problem/custom/spec.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::problem {

using expression::Residue;

SizeFormulas formulas_of(const CustomSpec& spec) {
  SizeFormulas made;
  for (const auto& [name, size] : spec.sizes[0]) made.sizes.push_back(name);
  const Residue::Names names = [&](const std::string& name) -> std::optional<Residue> {
    const std::string own = name.starts_with("problem.") ? name.substr(8) : name;
    if (!spec.sizes[0].contains(own)) return std::nullopt;
    return Residue::later(own);
  };
  const auto refuse = [](const Mark& mark, const std::string& what) {
    throw UserError(prefix(mark) + what + ", so that a kernel is made for one size");
  };
  if (!spec.reference) refuse(spec.arguments[0].mark, "expected: the values are of one size");
  for (const auto& [name, value] : spec.defines)
    if (!value.names().empty()) refuse(value.mark(), "defines: " + name + " rests on sizes");
  for (const CustomArgument& argument : spec.arguments) {
    if (argument.role) {
      if (argument.fill.kind == Distribution::Kind::file)
        refuse(argument.mark, "fill: the data of '" + argument.name + "' are of one size");
      auto& dims = made.dims[argument.name];
      for (const expression::Expression& size : argument.shape) {
        dims.push_back(Residue::of(size, names));
        if (argument.constant && dims.back().value() == nullptr)
          refuse(argument.mark, "constant: the size of '" + argument.name + "' rests on sizes");
      }
      if (argument.type.lanes > 1) dims.push_back(Residue::of(std::int64_t{argument.type.lanes}));
      continue;
    }
    for (const expression::StatedNumber& number : argument.numbers) {
      if (!number.whole.formula || number.whole.formula->names().empty()) continue;
      if (argument.numbers.size() > 1)
        refuse(argument.mark, "value: a field of '" + argument.name + "' rests on sizes");
      made.scalars.emplace(argument.name, Residue::of(*number.whole.formula, names));
    }
  }
  return made;
}

}  // namespace fa_tune::problem
