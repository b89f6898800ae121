#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/space/genome.hpp"
#include "engine/space/key_table.hpp"
#include "engine/util/random.hpp"

// Private to engine/space.
namespace fa_tune::space {

// The valid settings of a group of parameters as a multi-valued decision diagram (Kam et al.,
// "Multi-valued decision diagrams", 1998): a level a parameter, an edge a digit; every path from
// the root to the end is a valid setting. What may follow is the same below one node, so that
// histories with the same future share it; no two nodes are equal, and none leads nowhere. Every
// node knows how many paths lead from it to the end.
//
// Genomes are those of the whole space: a diagram reads and writes the genes of its parameters
// alone. Immutable.
class Diagram {
 public:
  using Node = std::uint32_t;

  // The parameters by level.
  const std::vector<std::size_t>& parameters() const { return parameters_; }
  bool empty() const { return root_ == kNowhere; }
  // Settings; UINT64_MAX where there are more than that, or as many.
  std::uint64_t count() const { return counts_[root_]; }
  double size() const { return sizes_[root_]; }
  std::size_t nodes() const { return counts_.size(); }
  std::size_t edges() const { return digits_.size(); }

  bool contains(const Genome& genome) const;
  // The place among the settings in lexicographic order of the levels' digits; nothing for what is
  // not valid. For counts below UINT64_MAX.
  std::optional<std::uint64_t> rank(const Genome& genome) const;
  void at(std::uint64_t index, Genome& genome) const { descend(0, root_, index, genome); }
  // Uniform; beyond 64 bits as uniform as 53 bits of a fraction are.
  void sample(Random& random, Genome& genome) const;

  // Puts the setting with the most genes equal to those of `wish` into `genome`, ties by `random`.
  // With `slack`, one with exactly that many equal genes fewer; false if there is none.
  bool nearest(const Genome& wish, std::size_t slack, Random& random, Genome& genome) const;

  // Calls visitor.found() for the settings that `visitor` lets through, in lexicographic order,
  // with their genes in `genome`. The visitor has
  //   std::optional<Gene> only(std::size_t parameter)        the one digit to try, or nothing for
  //   std::optional<std::size_t> pick(std::size_t parameter, std::size_t of)    one place of so
  //   many
  //                                                          that there are, or nothing for
  //   bool tries(std::size_t parameter, Gene digit)          all those that this wants
  // and is not asked about parameters that do not exist.
  template <typename Visitor>
  void walk(Visitor& visitor, Genome& genome) const {
    if (!empty()) walk(visitor, 0, root_, genome);
  }

 private:
  friend class DiagramWriter;
  friend class NearestSearch;

  // The nodes without edges.
  static constexpr Node kNowhere = 0;
  static constexpr Node kEnd = 1;

  // The position of the edge of a digit, or nothing.
  std::optional<std::size_t> edge(Node node, Gene digit) const;
  std::size_t first_edge(Node node) const { return first_edge_[node]; }
  std::size_t last_edge(Node node) const { return first_edge_[node + 1]; }
  void descend(std::size_t level, Node node, std::uint64_t index, Genome& genome) const;

  template <typename Visitor>
  void walk(Visitor& visitor, std::size_t level, Node node, Genome& genome) const {
    if (level == parameters_.size()) {
      visitor.found();
      return;
    }
    const std::size_t parameter = parameters_[level];
    const auto take = [&](std::size_t i) {
      genome[parameter] = digits_[i];
      walk(visitor, level + 1, children_[i], genome);
    };
    const std::size_t first = first_edge(node);
    if (digits_[first] == kInactiveGene) {
      take(first);
    } else if (const std::optional<Gene> only = visitor.only(parameter)) {
      if (const auto i = edge(node, *only)) take(*i);
    } else if (const auto place = visitor.pick(parameter, last_edge(node) - first)) {
      take(first + *place);
    } else {
      for (std::size_t i = first; i < last_edge(node); ++i)
        if (visitor.tries(parameter, digits_[i])) take(i);
    }
  }

  std::vector<std::size_t> parameters_;
  Node root_ = kNowhere;
  std::vector<std::uint32_t> first_edge_ = {0, 0, 0};  // a node, and one past the last
  std::vector<std::uint64_t> counts_ = {0, 1};         // a node
  std::vector<double> sizes_ = {0, 1};
  std::vector<std::uint16_t> absent_ = {0, 0};  // the fewest absent genes on a path to the end
  // Edges: by node, then by digit.
  std::vector<Gene> digits_;
  std::vector<Node> children_;
  std::vector<std::uint64_t> before_;  // paths through the edges of the node before this one
};

// Makes a diagram from its last level to its first: a node is added when all those it leads to are
// there.
class DiagramWriter {
 public:
  struct Edge {
    Gene digit = 0;
    Diagram::Node child = 0;
  };

  explicit DiagramWriter(std::vector<std::size_t> parameters);

  static constexpr Diagram::Node kNowhere = Diagram::kNowhere;
  static constexpr Diagram::Node kEnd = Diagram::kEnd;

  // The node of a level with these edges, by digit, none of which leads nowhere; `nowhere` if there
  // are none.
  Diagram::Node add(std::size_t level, std::span<const Edge> edges);
  std::size_t edges() const { return diagram_.digits_.size(); }
  Diagram finish(Diagram::Node root) &&;

 private:
  struct Level {
    KeyTable keys;
    std::vector<Diagram::Node> nodes;  // a key
  };

  Diagram diagram_;
  std::vector<Level> levels_;
  std::vector<std::uint64_t> key_;
};

}  // namespace fa_tune::space
