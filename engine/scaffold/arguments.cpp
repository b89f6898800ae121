#include "engine/scaffold/arguments.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace fa_tune::scaffold {
namespace {

bool is_byte(const std::string& type) { return type == "u8" || type == "i8"; }

// The shape of the first buffer that the kernel writes.
Bound written_shape(const Draft& draft) {
  for (const KernelParameter& each : draft.kernel.parameters) {
    const auto use = draft.use.buffers.find(each.name);
    const auto shape = draft.shapes.find(each.name);
    if (use != draft.use.buffers.end() && use->second.written && shape != draft.shapes.end() &&
        shape->second)
      return shape->second;
  }
  return draft.widest;
}

// The shape of a buffer whose indices are read from others: a byte reaches no further than its type.
Bound indexed_shape(const Draft& draft, const BufferUse& use) {
  for (const KernelParameter& each : draft.kernel.parameters)
    if (is_byte(each.type) && std::ranges::find(use.by, each.name) != use.by.end())
      return Polynomial(each.type == "u8" ? 256 : 128);
  return written_shape(draft);
}

// What a buffer begins with, and in `guessed` why. Empty: what its type has without being told.
std::string fill_of(const Draft& draft, const BufferUse& use, const std::string& type,
                    std::vector<std::string>& guessed) {
  if (use.offsets_to) return fmt::format("{{offsets: {}}}", *use.offsets_to);
  if (is_floating(type)) {
    if (!draft.use.has_hard_math) return "";
    guessed.emplace_back("above 0, for its roots, logarithms or powers");
    return "{uniform: [0.5, 2]}";
  }
  if (type == "bool") return "";
  if (use.below) {
    guessed.emplace_back("they are indices into rows");
    return fmt::format("{{integers: [0, {} - 1]}}",
                       draft.algebra.text(*use.below, draft.in_problem()));
  }
  if (type == "i8" && !use.index_of.empty()) return "{integers: [0, 127]}";
  for (const std::string& of : use.index_of) {
    if (type == "u8") break;
    const auto shape = draft.shapes.find(of);
    const Bound most =
        shape != draft.shapes.end() && shape->second ? shape->second : written_shape(draft);
    if (!most) continue;
    guessed.push_back("they are indices of " + of);
    return fmt::format("{{integers: [0, {} - 1]}}", draft.algebra.text(*most, draft.in_problem()));
  }
  guessed.emplace_back("the numbers");
  return type.starts_with("u8") ? "{integers: [0, 255]}" : "{integers: [0, 9]}";
}

void write_scalar(const Draft& draft, const KernelParameter& parameter, GuessedArgument& made) {
  if (draft.is_size(parameter.name)) {
    made.value = parameter.name;
    return;
  }
  made.value = usual_scalar(parameter.name, parameter.type);
  made.remark = {is_floating(parameter.type) ? Remark::Kind::guessed : Remark::Kind::fill_in,
                 is_floating(parameter.type) ? "the value" : "its value"};
}

void write_buffer(Draft& draft, const std::string& name, const std::string& type, bool constant,
                  GuessedArgument& made) {
  const BufferUse& use = draft.use.buffers[name];
  const bool indirect =
      !draft.shapes[name] && !use.by.empty() && std::ranges::none_of(use.by, &std::string::empty);
  const Bound shape = draft.shapes[name] ? draft.shapes[name]
                      : indirect         ? indexed_shape(draft, use)
                                         : draft.widest;
  made.shape = shape ? draft.algebra.factors(*shape, draft.in_problem())
                     : std::vector<std::string>{draft.made.sizes[0].name};
  if (made.shape.size() > 6) made.shape = {draft.algebra.text(*shape, draft.in_problem())};
  std::vector<std::string> guessed;
  if (use.offsets_to && !made.shape.empty() && made.shape.size() == 1)
    guessed.emplace_back("offsets of rows");
  const bool partly = std::ranges::any_of(use.extents, [](const Bound& each) { return !each; });
  if (indirect)
    guessed.emplace_back("the shape, which its indices are made for");
  else if (!draft.shapes[name])
    made.remark = {Remark::Kind::fill_in,
                   "shape: init does not see how many elements it reads or writes"};
  else if (partly)
    guessed.emplace_back("the shape, from what is seen of its indices");
  else
    guessed.emplace_back("the shape");
  if (use.written && !constant) {
    const bool some = use.read || draft.use.leaves_edge || use.passed_on;
    made.role = some ? "inout" : "output";
    guessed.emplace_back(use.atomic      ? "what it adds to begins as 0"
                         : use.read      ? "it reads what it writes"
                         : use.passed_on ? "a function gets it"
                         : some          ? "elements may be left as they are"
                                         : "it writes all of it");
    if (use.atomic && !constant) made.fill = "{value: 0}";
  }
  if (made.role != "output" && made.fill.empty()) made.fill = fill_of(draft, use, type, guessed);
  if (made.remark.kind != Remark::Kind::none) return;
  std::string text;
  for (const std::string& each : guessed) text += (text.empty() ? "" : "; ") + each;
  made.remark = {Remark::Kind::guessed, text};
}

}  // namespace

void write_arguments(Draft& draft) {
  bool has_output = false, has_input = false;
  for (const KernelParameter& each : draft.kernel.parameters) {
    GuessedArgument made{each.name, each.type, {}, "", "", "", false, {}};
    if (each.pointer)
      write_buffer(draft, each.name, each.type, false, made);
    else
      write_scalar(draft, each, made);
    has_output |= made.role == "output" || made.role == "inout";
    has_input |= each.pointer && made.role != "output";
    draft.made.arguments.push_back(std::move(made));
  }
  for (const ConstantVariable& each : draft.source.constants) {
    if (!draft.use.words.contains(each.name)) continue;
    if (!each.known)
      draft.refuse(fmt::format("the variable '{}' has the type '{}', which init cannot state",
                               each.name, each.type));
    GuessedArgument made{each.name, each.type, {}, "", "", "", true, {}};
    write_buffer(draft, each.name, each.type, true, made);
    made.role.clear();
    has_input = true;
    draft.made.arguments.push_back(std::move(made));
  }
  for (GuessedArgument& each : draft.made.arguments) {
    if (has_output) break;
    const auto parameter =
        std::ranges::find(draft.kernel.parameters, each.name, &KernelParameter::name);
    if (parameter == draft.kernel.parameters.end() || !parameter->pointer || parameter->constant)
      continue;
    each.role = "inout";
    each.remark = {Remark::Kind::fill_in, "role: init does not see which buffer it writes"};
    has_output = true;
  }
  if (!has_output) draft.refuse("it writes to none of its arguments, as far as init sees");
  // A problem has something that is given.
  if (!has_input)
    for (GuessedArgument& each : draft.made.arguments)
      if (each.role == "output") {
        each.role = "inout";
        each.fill = is_floating(each.type) || each.type == "bool" ? "" : "{integers: [0, 9]}";
        break;
      }
  const auto is_f64 = [](const GuessedArgument& each) {
    return each.type.starts_with("f64") || each.type == "complex128";
  };
  const auto is_packed = [](const GuessedArgument& each) {
    return lanes_of(each.type) > 1 && each.type.find("f16") != each.type.npos;
  };
  if (std::ranges::any_of(draft.made.arguments, is_f64)) {
    draft.made.tolerance = "{absolute: 1e-9, relative: 1e-9}";
    draft.made.tolerance_remark = {Remark::Kind::guessed,
                                   "doubles have no wider form to measure by"};
  } else if (draft.use.has_packed || std::ranges::any_of(draft.made.arguments, is_packed)) {
    draft.made.tolerance = "{absolute: 1e-2, relative: 1e-2}";
    draft.made.tolerance_remark = {Remark::Kind::guessed,
                                   "packed numbers have no wider form to measure by"};
  }
}

}  // namespace fa_tune::scaffold
