#include "engine/problem/custom/spec.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/problem/custom/spec_form.hpp"
#include "engine/space/space_files.hpp"

namespace fa_tune::problem {
namespace {

constexpr std::int64_t kMostSize = std::int64_t{1} << 40;
constexpr std::size_t kMostSizes = 64;
constexpr std::size_t kMostDimensions = 6;

constexpr std::array kRoles = {std::pair{"input", Role::input}, std::pair{"output", Role::output},
                               std::pair{"inout", Role::inout},
                               std::pair{"workspace", Role::workspace},
                               std::pair{"unchecked", Role::unchecked}};
static_assert(kRoles.size() == form::kRoleWords.size());

template <typename Choices>
auto choice(const YamlNode& node, const char* what, const Choices& choices) {
  for (const auto& [name, value] : choices)
    if (node.text(what) == name) return value;
  std::vector<std::string> known;
  for (const auto& [name, value] : choices) known.emplace_back(name);
  node.expected(what, fmt::format("one of {}", fmt::join(known, ", ")));
}

expression::Expression expression(const YamlNode& node, const char* what) {
  return expression::Expression::parse(node.text(what), node.text_mark());
}

Constants read_sizes(const YamlNode& node) {
  Constants sizes;
  for (const YamlEntry& entry : node.entries("sizes")) {
    if (!is_identifier(entry.key)) entry.value.expected("sizes", "names of letters, digits and _");
    sizes[entry.key] = entry.value.integer(entry.key, 1, kMostSize);
  }
  if (sizes.empty()) node.expected("sizes", "at least one, as in {n: 1000}");
  return sizes;
}

std::vector<Constants> read_all_sizes(const YamlNode& node) {
  std::vector<Constants> all;
  if (!node.is_list()) return {read_sizes(node)};
  for (const YamlNode& item : node.items("sizes")) {
    all.push_back(read_sizes(item));
    if (!std::ranges::equal(all[0], all.back(), {}, &Constants::value_type::first,
                            &Constants::value_type::first))
      item.expected("sizes", "the same names as in the first");
  }
  if (all.empty() || all.size() > kMostSizes) node.expected("sizes", "1 to 64 maps");
  return all;
}

std::vector<DrawnSize> read_hidden(const YamlNode& node, const Constants& sizes) {
  std::vector<DrawnSize> drawn;
  for (const YamlEntry& entry : node.entries("hidden")) {
    if (!sizes.contains(entry.key)) entry.value.fail("hidden: '" + entry.key + "' is no size");
    const auto& bounds = entry.value.items("hidden");
    if (bounds.size() != 2) entry.value.expected("hidden", "the least and the largest: [1, 100]");
    const std::int64_t least = bounds[0].integer("hidden", 1, kMostSize);
    drawn.push_back({entry.key, least, bounds[1].integer("hidden", least, kMostSize)});
  }
  return drawn;
}

void read_buffer(const YamlNode& node, CustomArgument& argument) {
  if (argument.type.is_struct())
    node.at("type").fail(
        "type: a buffer holds numbers, vectors or complex numbers: give each field of a struct a "
        "buffer of its own, or state a vector if all are of one type");
  const YamlNode& shape = node.at("shape");
  for (const YamlNode& size : shape.items("shape"))
    argument.shape.push_back(expression(size, "shape"));
  if (argument.shape.empty() || argument.shape.size() > kMostDimensions)
    shape.expected("shape", "one to six sizes");
  const YamlNode* role = node.find("role");
  argument.role = role == nullptr ? Role::input : choice(*role, "role", kRoles);
  const YamlNode* constant = node.find("constant");
  argument.constant = constant != nullptr && constant->boolean("constant");
  if (argument.constant && argument.role != Role::input)
    role->fail("role: a kernel can only read what is constant");
  const YamlNode* fill = node.find("fill");
  if (fill != nullptr) {
    if (!is_given(*argument.role)) fill->fail("fill: nobody fills what the kernel alone writes");
    argument.fill = read_fill(*fill, argument.type);
  } else if (argument.number() == DType::boolean) {
    argument.fill = {
        .kind = Distribution::Kind::integers, .least = {0}, .most = {1}, .mark = node.mark()};
  } else if (is_given(*argument.role) && is_integer(argument.number())) {
    node.fail("'" + argument.name +
              "' needs a `fill`: which integers it may hold, as in "
              "{integers: [0, 9]}");
  }
}

// The numbers of a value: of a vector or a complex number a list, of a struct a map of its fields.
void read_values(const YamlNode& node, const CustomType& type,
                 std::vector<expression::StatedNumber>& numbers) {
  if (type.is_struct()) {
    if (node.entries("value").size() != type.fields.size())
      node.expected("value", "a value for each field of " + type_name(type));
    for (const auto& [name, field] : type.fields) read_values(node.at(name), field, numbers);
    return;
  }
  if (!type.is_number()) {
    const auto& items = node.items("value");
    if (std::ssize(items) != type.lanes)
      node.expected("value", fmt::format("{} numbers for {}", type.lanes, type_name(type)));
    CustomType element;
    element.number = type.number;
    for (const YamlNode& item : items) read_values(item, element, numbers);
    return;
  }
  numbers.push_back(expression::read_stated_number(node, type.number, "value"));
}

void read_vary(const YamlNode& node, CustomArgument& argument) {
  const auto floats = [](const ScalarPart& part) { return !is_integer(part.type); };
  if (std::ranges::none_of(layout_of(argument.type).parts, floats))
    node.fail("vary: is of scalars of floating types");
  if (node.is_scalar()) {
    if (node.boolean("vary")) node.expected("vary", "false, or two numbers: [0.5, 2]");
    argument.fixed = true;
    return;
  }
  if (!argument.type.is_number()) node.expected("vary", "false, as it has several numbers");
  const auto& numbers = node.items("vary");
  if (numbers.size() != 2) node.expected("vary", "two numbers: [0.5, 2]");
  const double least = numbers[0].number("vary"), most = numbers[1].number("vary");
  if (most < least) numbers[1].expected("vary", "a number that is not below the first");
  argument.vary = {least, most};
}

CustomArgument read_argument(const YamlNode& node) {
  node.check_keys("an argument", form::kArgument);
  CustomArgument argument;
  argument.mark = node.mark();
  argument.name = node.at("name").name("name");
  argument.type = read_type(node.at("type"));
  const YamlNode* value = node.find("value");
  if ((value == nullptr) == (node.find("shape") == nullptr))
    node.fail("'" + argument.name + "' needs either a `shape`, for a buffer, or a `value`");
  const YamlNode* vary = node.find("vary");
  if (value == nullptr) {
    if (vary != nullptr) vary->fail("vary: is of scalars");
    read_buffer(node, argument);
    return argument;
  }
  for (const char* key : {"role", "fill", "constant"})
    if (const YamlNode* other = node.find(key))
      other->fail(std::string(key) + ": is of buffers, and '" + argument.name + "' has a value");
  read_values(*value, argument.type, argument.numbers);
  if (vary != nullptr) read_vary(*vary, argument);
  return argument;
}

std::vector<CustomArgument> read_arguments(const YamlNode& node) {
  std::vector<CustomArgument> all;
  for (const YamlNode& item : node.items("arguments")) {
    all.push_back(read_argument(item));
    const auto same = [&](const CustomArgument& other) { return other.name == all.back().name; };
    if (std::ranges::count_if(all, same) > 1)
      item.fail("arguments: '" + all.back().name + "' is there twice");
  }
  const auto has = [&](auto is) {
    return std::ranges::any_of(all, [&](const auto& each) { return each.role && is(*each.role); });
  };
  if (!has(is_result)) node.fail("arguments: expected at least one buffer that is a result");
  return all;
}

Tolerance read_tolerance(const YamlNode& node) {
  node.check_keys("tolerance", form::kTolerance);
  Tolerance tolerance;
  const auto bound = [&](const char* key) {
    const YamlNode* given = node.find(key);
    const double number = given == nullptr ? 0 : given->number(key);
    if (number < 0) given->expected(key, "a number that is not below 0");
    return number;
  };
  tolerance.absolute = bound("absolute");
  tolerance.relative = bound("relative");
  return tolerance;
}

// With the one that kernels are timed on.
std::vector<Inputs> read_inputs(const YamlNode& node) {
  std::vector<std::pair<std::string, Inputs>> known;
  for (const Inputs each :
       {Inputs::normal, Inputs::tripled, Inputs::small, Inputs::negated, Inputs::large_logits,
        Inputs::distinct_rows, Inputs::rare, Inputs::extreme})
    known.emplace_back(to_text(each), each);
  std::vector<Inputs> chosen;
  for (const YamlNode& item : node.items("inputs")) chosen.push_back(choice(item, "inputs", known));
  if (std::ranges::find(chosen, Inputs::normal) == chosen.end())
    node.expected("inputs", "a list with normal, which is what is timed");
  return chosen;
}

void read_expected(const YamlNode& problem, const YamlNode& node, CustomSpec& spec) {
  if (problem.find("reference") != nullptr)
    node.fail("expected: a problem has either expected values or a reference");
  const auto is_measured = [](const CustomArgument& each) {
    return each.role && is_result(*each.role) && !is_integer(each.number());
  };
  if (!spec.tolerance && std::ranges::any_of(spec.arguments, is_measured))
    node.fail("expected: say with a `tolerance` how far off they an element may be");
  if (spec.sizes.size() > 1 || !spec.hidden.empty())
    node.fail("expected: they are of one map of sizes, and there are others");
  for (const YamlEntry& entry : node.entries("expected")) {
    const auto of = std::ranges::find(spec.arguments, entry.key, &CustomArgument::name);
    if (of == spec.arguments.end() || !of->role || !is_result(*of->role))
      entry.value.fail("expected: '" + entry.key + "' is no result");
    spec.expected[entry.key] = entry.value.text("expected");
  }
  for (const CustomArgument& argument : spec.arguments) {
    if (!argument.role) continue;
    const Distribution::Kind kind = argument.fill.kind;
    if (is_result(*argument.role) && !spec.expected.contains(argument.name))
      node.fail("expected: '" + argument.name + "' is missing");
    if (is_given(*argument.role) && kind != Distribution::Kind::file &&
        kind != Distribution::Kind::value)
      throw UserError(prefix(argument.mark) + "'" + argument.name +
                      "' needs the data that the expected values are of: `fill: {file: x.npy}`");
  }
}

kernel::Template read_reference(const YamlNode& space, const YamlNode& node,
                                const CustomSpec& spec) {
  std::vector<std::string> names;
  for (const CustomArgument& argument : spec.arguments)
    if (!argument.constant) names.push_back(argument.name);
  return kernel::Template::written_out(
      "reference", node, space::carried_file(space, node.at("source")), {"custom", {}, names});
}

}  // namespace

CustomSpec read_custom(const YamlNode& space) {
  const YamlNode& problem = space.at("problem");
  problem.check_keys("a custom problem", form::kProblem);
  CustomSpec spec;
  spec.sizes = read_all_sizes(problem.at("sizes"));
  if (const YamlNode* node = problem.find("hidden"))
    spec.hidden = read_hidden(*node, spec.sizes[0]);
  spec.arguments = read_arguments(problem.at("arguments"));
  if (const YamlNode* node = problem.find("defines"))
    for (const YamlEntry& entry : node->entries("defines")) {
      if (!is_identifier(entry.key)) entry.value.expected("defines", "names");
      spec.defines.emplace_back(entry.key, expression(entry.value, "defines"));
    }
  if (const YamlNode* node = problem.find("inputs")) spec.inputs = read_inputs(*node);
  if (const YamlNode* node = problem.find("tolerance")) spec.tolerance = read_tolerance(*node);
  for (auto [key, to] : {std::pair{"flop", &spec.flop}, std::pair{"bytes", &spec.bytes}})
    if (const YamlNode* node = problem.find(key)) *to = expression(*node, key);
  if (const YamlNode* arrays = space.find("arrays"))
    for (const YamlEntry& entry : arrays->entries("arrays")) {
      // The text may be a stranger's, and the path leads anywhere: other files are not even opened.
      const YamlNode& at = entry.value.at("at");
      if (!at.text("at").ends_with(".npy")) at.expected("at", "the path of a .npy file");
      spec.arrays[entry.key] = {at.text("at"), entry.value.at("sha256").text("sha256")};
    }
  if (const YamlNode* expected = problem.find("expected")) {
    read_expected(problem, *expected, spec);
  } else {
    spec.reference = read_reference(space, problem.at("reference"), spec);
    spec.reference_mark = problem.at("reference").mark();
  }
  return spec;
}

expression::Expression::Scope scope_of_sizes(const Constants& sizes) {
  return [&sizes](const std::string& name) -> const Value* {
    const std::string own = name.starts_with("problem.") ? name.substr(8) : name;
    const auto found = sizes.find(own);
    return found == sizes.end() ? nullptr : &found->second;
  };
}

std::int64_t evaluate(const expression::Expression& expression, const Constants& sizes) {
  return expression.evaluate_integer(scope_of_sizes(sizes));
}

}  // namespace fa_tune::problem
