#include "engine/scaffold/draft.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "engine/util/error.hpp"

namespace fa_tune::scaffold {

bool is_integer_type(const std::string& type) {
  return known_type(type) && lanes_of(type) == 1 && !is_floating(type) && type != "bool";
}

Draft::Draft(const SourceText& from, const KernelText& of) : source(from), kernel(of) {
  for (const KernelParameter& each : kernel.parameters)
    if (!each.pointer && is_integer_type(each.type)) exact.insert(each.name);
  for (const TemplateParameter& each : kernel.template_parameters)
    if (!each.is_type) tunable[each.name] = each.otherwise.value_or(usual_value(each.name));
  for (const auto& [name, macro] : source.source.open) tunable[name] = macro.number;
  for (auto& [name, value] : tunable) {
    exact.insert(name);
    // block_size_x of a row of threads, not of a square.
    const std::string stem = name.substr(0, name.size() - 1);
    const auto macro = source.source.open.find(name);
    if (macro != source.source.open.end() && macro->second.missing && name.ends_with("_x") &&
        stem.ends_with("block_size_") && !source.source.open.contains(stem + "y"))
      value = 128;
  }
}

void Draft::refuse(const std::string& what) const {
  throw UserError(fmt::format("kernel '{}' (line {}): {}", kernel.name, kernel.line, what));
}

bool Draft::is_scalar(const std::string& name) const {
  return std::ranges::any_of(kernel.parameters, [&](const KernelParameter& each) {
    return each.name == name && !each.pointer;
  });
}

bool Draft::is_size(const std::string& name) const {
  return std::ranges::find(made.sizes, name, &GuessedSize::name) != made.sizes.end();
}

bool Draft::is_parameter(const std::string& name) const {
  return std::ranges::find(made.parameters, name, &GuessedParameter::name) != made.parameters.end();
}

std::string Draft::fresh_name(const std::string& wanted) const {
  std::string name = wanted;
  for (int i = 2; use.words.contains(name) || source.source.closed.contains(name) ||
                  source.source.open.contains(name) || tunable.contains(name);
       ++i)
    name = wanted + std::to_string(i);
  return name;
}

std::function<double(const std::string&)> Draft::default_value() const {
  return [this](const std::string& name) {
    const auto found = tunable.find(name);
    if (found != tunable.end()) return static_cast<double>(found->second);
    double size = 1009;
    for (const char c : name) size += c;
    return name == "nnz" ? 4 * size : size;
  };
}

Bound Draft::largest(const std::vector<Bound>& bounds) const {
  Bound most;
  double size = 0;
  for (const Bound& each : bounds) {
    if (!each) continue;
    const double here = algebra.at(*each, default_value());
    if (!most || here > size) {
      most = each;
      size = here;
    }
  }
  return most;
}

Algebra::Spelling Draft::in_problem() const {
  return [this](const std::string& name) {
    const auto number = tunable.find(name);
    return !is_size(name) && number != tunable.end() ? std::to_string(number->second) : name;
  };
}

Algebra::Spelling Draft::in_launch(bool of_reference) const {
  return [this, of_reference](const std::string& name) -> std::string {
    if (is_size(name)) return "problem." + name;
    const auto number = tunable.find(name);
    if (number == tunable.end()) return name;
    return of_reference || !is_parameter(name) ? std::to_string(number->second) : name;
  };
}

}  // namespace fa_tune::scaffold
