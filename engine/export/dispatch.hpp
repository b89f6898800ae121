#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "engine/yaml/value.hpp"

namespace fa_tune::exports {

// A question about a shape: whether a product of sizes is below a threshold, or whether one member,
// which need not be a number, has a value.
struct Split {
  std::vector<std::string> product;  // "B", "H": of one member alone where it asks for equality
  std::int64_t below = 0;
  bool equality = false;
  Value value = std::int64_t{0};

  // Throws UserError where the shape lacks a member.
  bool holds(const Constants& shape) const;
  std::string text() const;  // "B * H < 24", "causal == true"
  friend bool operator==(const Split&, const Split&) = default;
};

// Which of several kernels serves a shape: a decision tree.
struct DispatchTree {
  struct Node {
    std::size_t choice = 0;  // of a leaf
    Split split = {};        // of an inner node
    // Where it goes on if the split holds, and if not; both 0 in a leaf.
    std::size_t then = 0, otherwise = 0;
    bool is_leaf() const { return then == 0; }
  };
  struct Range {
    std::string size;
    std::int64_t least = 0, most = 0;
  };

  std::vector<Node> nodes = {Node{}};  // the root first
  std::vector<Range> ranges;           // of the shapes that it was learned from
  // The choices, the most robust first: that is taken outside of the ranges, and the first that can
  // serve a shape where the leaf's cannot.
  std::vector<std::size_t> robust;

  bool in_ranges(const Constants& shape) const;
  // By the tree alone, whatever the ranges.
  std::size_t leaf_of(const Constants& shape) const;
  std::size_t choice(const Constants& shape) const;
  // That first, then the others in the order in which they are asked where it cannot serve.
  std::vector<std::size_t> preferred(const Constants& shape) const;
  std::size_t leaves() const;
};

// Lines of if and else; `name` says what a choice is called there.
std::string dispatch_text(const DispatchTree& tree, const std::vector<std::string>& names);
// {"ranges": {size: [least, most]}, "outside": name, "tree": node}, where a node is
// {"if": {"product": [...], "below": n} | {"member": name, "equals": value}, "then": node,
//  "else": node} or {"choice": name}.
nlohmann::ordered_json dispatch_json(const DispatchTree& tree,
                                     const std::vector<nlohmann::ordered_json>& names);

// `int dispatch(const Sizes& sizes)` for a header whose Sizes have these members; what the tree asks
// of others is the same for all kernels of a header.
std::string cxx_dispatch(const DispatchTree& tree, const Constants& fixed);
// `def _dispatch(s)`, of a dict of sizes.
std::string python_dispatch(const DispatchTree& tree);

}  // namespace fa_tune::exports
