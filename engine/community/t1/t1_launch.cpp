#include "engine/community/t1/t1_launch.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/expression/python_expression.hpp"
#include "engine/source/identifier_substitution.hpp"

namespace fa_tune::community {
namespace {

constexpr std::array kUpper = {"X", "Y", "Z"};

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
  return text;
}

// {"X": .., "Y": ..}, a list, or one size.
const YamlNode* of_axis(const YamlNode& sizes, std::size_t axis) {
  if (sizes.is_scalar()) return axis == 0 ? &sizes : nullptr;
  if (!sizes.is_list()) return t1_given(sizes, kUpper[axis]);
  const auto& all = sizes.items("GlobalSize");
  return axis < all.size() ? &all[axis] : nullptr;
}

}  // namespace

const space::Parameter* T1Launch::parameter(const std::string& name) const {
  const auto found = std::ranges::find(file_.parts.parameters, name, &space::Parameter::name);
  return found == file_.parts.parameters.end() ? nullptr : &*found;
}

void T1Launch::read_sizes() {
  const YamlNode* node = t1_given(kernel_, "ProblemSize");
  if (node == nullptr) return;
  const auto add = [this](const YamlNode& size) {
    const auto values = expression::parse_python_values(size.text("ProblemSize"), size.text_mark());
    const auto* whole = values.size() == 1 ? std::get_if<std::int64_t>(&values[0]) : nullptr;
    if (whole == nullptr || *whole < 1) size.expected("ProblemSize", "a number above 0");
    sizes_.push_back(*whole);
  };
  if (!node->is_list()) return add(*node);
  for (const YamlNode& size : node->items("ProblemSize")) add(size);
  if (sizes_.empty() || sizes_.size() > 3) node->expected("ProblemSize", "one to three numbers");
}

std::string T1Launch::expression(const YamlNode& node, std::string_view what,
                                 const std::string& scope, bool of_parameters) const {
  std::string text = node.text(what);
  for (std::size_t i = 0; i < sizes_.size(); ++i)
    text = replaced(std::move(text), fmt::format("ProblemSize[{}]", i),
                    scope + "problem_size_" + kAxes[i]);
  for (auto found = source::next_extreme(text, 0); found;
       found = source::next_extreme(text, found->begin)) {
    const space::Parameter* of = parameter(found->name);
    if (of == nullptr) node.fail(fmt::format("{}: '{}' is no parameter", what, found->name));
    std::vector<std::int64_t> values;
    for (const Value& value : of->values)
      if (const auto* whole = std::get_if<std::int64_t>(&value)) values.push_back(*whole);
    if (values.empty()) node.fail(fmt::format("{}: '{}' has no integers", what, of->name));
    const auto [least, most] = std::ranges::minmax(values);
    text.replace(found->begin, found->end - found->begin,
                 std::to_string(found->most ? most : least));
  }
  if (!of_parameters)
    source::with_words(text, [&](const std::string& word) {
      if (parameter(word) != nullptr)
        node.fail(
            fmt::format("{}: '{}' is a parameter, and what a kernel is given must not "
                        "depend on its config",
                        what, word));
      return word;
    });
  return text;
}

bool T1Launch::is_sized(std::size_t axis) const {
  const YamlNode* local = t1_given(kernel_, "LocalSize");
  return (local != nullptr && t1_given(*local, kUpper[axis]) != nullptr) ||
         parameter(fmt::format("block_size_{}", kAxes[axis])) != nullptr;
}

std::string T1Launch::block_size(std::size_t axis) const {
  if (const YamlNode* local = t1_given(kernel_, "LocalSize"))
    if (const YamlNode* size = t1_given(*local, kUpper[axis]))
      return expression(*size, "LocalSize", "problem.", true);
  const std::string name = fmt::format("block_size_{}", kAxes[axis]);
  return parameter(name) != nullptr ? name : axis == 0 ? "256" : "1";
}

std::string T1Launch::grid_size(std::size_t axis) const {
  if (axis < sizes_.size()) {
    const std::string size = fmt::format("problem.problem_size_{}", kAxes[axis]);
    return fmt::format("ceil_div({}, {})", size, divisor(axis));
  }
  const YamlNode* global = sizes_.empty() ? t1_given(kernel_, "GlobalSize") : nullptr;
  const YamlNode* size = global == nullptr ? nullptr : of_axis(*global, axis);
  if (size == nullptr) {
    if (sizes_.empty() && axis == 0) kernel_.fail("expected a ProblemSize, or a GlobalSize");
    return "1";
  }
  const YamlNode* kind = t1_given(kernel_, "GlobalSizeType");
  const std::string all = expression(*size, "GlobalSize", "problem.", true);
  return kind != nullptr && kind->text("GlobalSizeType") == "OpenCL"
             ? fmt::format("ceil_div({}, {})", all, block_size(axis))
             : all;
}

std::string T1Launch::divisor(std::size_t axis) const {
  const YamlNode* divisors = t1_given(kernel_, fmt::format("GridDiv{}", kUpper[axis]));
  const auto told = [&](const YamlNode& each) {
    return expression(each, "GridDiv", "problem.", true);
  };
  if (divisors != nullptr && divisors->is_scalar()) return told(*divisors);
  if (divisors == nullptr || divisors->items("GridDiv").empty())
    return is_sized(axis) ? block_size(axis) : "1";
  std::string product = "1";
  for (const YamlNode& each : divisors->items("GridDiv")) product += " * (" + told(each) + ")";
  return product;
}

std::string T1Launch::text() const {
  std::vector<std::string> grid, block;
  for (std::size_t i = 0; i < 3; ++i) {
    grid.push_back(to_json(Value(grid_size(i))));
    block.push_back(to_json(Value(block_size(i))));
  }
  std::string made =
      fmt::format("{{grid: [{}], block: [{}]", fmt::join(grid, ", "), fmt::join(block, ", "));
  if (const YamlNode* shared = t1_given(kernel_, "SharedMemory"))
    made += ", shared: " + to_json(Value(expression(*shared, "SharedMemory", "problem.", true)));
  return made + "}";
}

std::string T1Launch::with_own_sizes(std::string text) const {
  for (std::size_t i = 0; i < sizes_.size(); ++i)
    text = replaced(std::move(text), fmt::format("problem.problem_size_{}", kAxes[i]),
                    std::to_string(sizes_[i]));
  return text;
}

}  // namespace fa_tune::community
