#include "engine/export/dispatch.hpp"

#include <algorithm>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/export/text.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::exports {
namespace {

using Json = nlohmann::ordered_json;
using Node = DispatchTree::Node;

const Value& member(const Constants& shape, const std::string& name) {
  const auto found = shape.find(name);
  if (found == shape.end()) throw UserError("a shape has no '" + name + "' to choose a kernel by");
  return found->second;
}

Json value_json(const Value& value) {
  return std::visit([](const auto& held) { return Json(held); }, value);
}

// How a tree is written down: in words, in C++ or in Python.
struct Notes {
  std::function<std::string(const Split&)> condition;
  std::function<std::string(std::size_t)> leaf;
  const char *open, *otherwise, *close;  // around a condition, between branches, behind them
};

void write(const DispatchTree& tree, const Notes& notes, std::size_t at, std::size_t indent,
           std::string& text) {
  const Node& node = tree.nodes[at];
  const std::string margin(indent, ' ');
  if (node.is_leaf()) {
    text += margin + notes.leaf(node.choice) + "\n";
    return;
  }
  text += fmt::format("{}if {}{}\n", margin, notes.condition(node.split), notes.open);
  write(tree, notes, node.then, indent + 2, text);
  text += margin + notes.otherwise + "\n";
  write(tree, notes, node.otherwise, indent + 2, text);
  if (*notes.close != 0) text += margin + notes.close + "\n";
}

Json node_json(const DispatchTree& tree, const std::vector<Json>& names, std::size_t at) {
  const Node& node = tree.nodes[at];
  if (node.is_leaf()) return {{"choice", names.at(node.choice)}};
  const Split& split = node.split;
  const Json asked = split.equality
                         ? Json{{"member", split.product[0]}, {"equals", value_json(split.value)}}
                         : Json{{"product", split.product}, {"below", split.below}};
  return {{"if", asked},
          {"then", node_json(tree, names, node.then)},
          {"else", node_json(tree, names, node.otherwise)}};
}

std::string product_of(const std::vector<std::string>& names,
                       const std::function<std::string(const std::string&)>& written) {
  std::vector<std::string> factors;
  for (const std::string& name : names) factors.push_back(written(name));
  return fmt::format("{}", fmt::join(factors, " * "));
}

}  // namespace

bool Split::holds(const Constants& shape) const {
  if (equality) return member(shape, product[0]) == value;
  // Sizes of shapes are those of tensors that exist, so that a product of them has room.
  std::int64_t all = 1;
  for (const std::string& name : product) all *= integer(shape, name);
  return all < below;
}

std::string Split::text() const {
  if (equality) return product[0] + " == " + to_text(value);
  return fmt::format("{} < {}", fmt::join(product, " * "), below);
}

bool DispatchTree::in_ranges(const Constants& shape) const {
  return std::ranges::all_of(ranges, [&](const Range& range) {
    const std::int64_t size = integer(shape, range.size);
    return range.least <= size && size <= range.most;
  });
}

std::size_t DispatchTree::leaf_of(const Constants& shape) const {
  std::size_t at = 0;
  while (!nodes[at].is_leaf())
    at = nodes[at].split.holds(shape) ? nodes[at].then : nodes[at].otherwise;
  return nodes[at].choice;
}

std::size_t DispatchTree::choice(const Constants& shape) const {
  return in_ranges(shape) ? leaf_of(shape) : robust.at(0);
}

std::vector<std::size_t> DispatchTree::preferred(const Constants& shape) const {
  std::vector<std::size_t> order = {choice(shape)};
  for (const std::size_t other : robust)
    if (other != order[0]) order.push_back(other);
  return order;
}

std::size_t DispatchTree::leaves() const {
  return static_cast<std::size_t>(std::ranges::count_if(nodes, &Node::is_leaf));
}

std::string dispatch_text(const DispatchTree& tree, const std::vector<std::string>& names) {
  std::string text;
  write(tree,
        {.condition = &Split::text,
         .leaf = [&](std::size_t choice) { return names.at(choice); },
         .open = ":",
         .otherwise = "else:",
         .close = ""},
        0, 0, text);
  return text;
}

Json dispatch_json(const DispatchTree& tree, const std::vector<Json>& names) {
  Json ranges = Json::object();
  for (const DispatchTree::Range& range : tree.ranges)
    ranges[range.size] = {range.least, range.most};
  return {{"ranges", ranges},
          {"outside", names.at(tree.robust.at(0))},
          {"tree", node_json(tree, names, 0)}};
}

std::string cxx_dispatch(const DispatchTree& tree, const Constants& fixed) {
  const auto size = [](const std::string& name) { return "sizes." + name; };
  const auto condition = [&](const Split& split) {
    if (!split.equality)
      return fmt::format("({} < {})", product_of(split.product, size), split.below);
    if (const auto known = fixed.find(split.product[0]); known != fixed.end())
      return std::string(known->second == split.value ? "(true)" : "(false)");
    return fmt::format("({} == {})", size(split.product[0]), to_text(split.value));
  };
  std::string text =
      "// Which kernel is for these sizes, as a decision tree learned it; where no shape lay from\n"
      "// which it was learned, the one that is never far behind.\n"
      "inline int dispatch(const Sizes& sizes) {\n";
  for (const DispatchTree::Range& range : tree.ranges)
    text += fmt::format("  if (sizes.{0} < {1} || sizes.{0} > {2}) return {3};\n", range.size,
                        range.least, range.most, tree.robust.at(0));
  write(tree,
        {.condition = condition,
         .leaf = [](std::size_t choice) { return fmt::format("return {};", choice); },
         .open = " {",
         .otherwise = "} else {",
         .close = "}"},
        0, 2, text);
  return text + "}\n\n";
}

std::string python_dispatch(const DispatchTree& tree) {
  const auto size = [](const std::string& name) {
    return "s[" + literal(Json(name), Notation::json) + "]";
  };
  const auto condition = [&](const Split& split) {
    if (!split.equality)
      return fmt::format("{} < {}", product_of(split.product, size), split.below);
    return size(split.product[0]) + " == " + literal(value_json(split.value), Notation::python);
  };
  std::string text =
      "# Which kernel is for these sizes, as a decision tree learned it; where no shape lay from "
      "which\n# it was learned, the one that is never far behind.\ndef _dispatch(s):\n";
  for (const DispatchTree::Range& range : tree.ranges)
    text += fmt::format("    if not {} <= {} <= {}:\n        return {}\n", range.least,
                        size(range.size), range.most, tree.robust.at(0));
  write(tree,
        {.condition = condition,
         .leaf = [](std::size_t choice) { return fmt::format("return {}", choice); },
         .open = ":",
         .otherwise = "else:",
         .close = ""},
        0, 4, text);
  return text;
}

}  // namespace fa_tune::exports
