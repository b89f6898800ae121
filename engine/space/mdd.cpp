#include "engine/space/mdd.hpp"

#include <algorithm>
#include <utility>

namespace fa_tune {
namespace {

std::uint64_t add_saturating(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

}  // namespace

std::optional<std::size_t> Diagram::edge(Node node, Gene digit) const {
  const auto first = digits_.begin() + static_cast<std::ptrdiff_t>(first_edge(node));
  const auto last = digits_.begin() + static_cast<std::ptrdiff_t>(last_edge(node));
  const auto found = std::lower_bound(first, last, digit);
  if (found == last || *found != digit) return std::nullopt;
  return static_cast<std::size_t>(found - digits_.begin());
}

bool Diagram::contains(const Genome& genome) const {
  Node node = root_;
  if (node == nowhere) return false;
  for (const std::size_t parameter : parameters_) {
    const auto i = edge(node, genome[parameter]);
    if (!i) return false;
    node = children_[*i];
  }
  return true;
}

std::optional<std::uint64_t> Diagram::rank(const Genome& genome) const {
  Node node = root_;
  if (node == nowhere) return std::nullopt;
  std::uint64_t rank = 0;
  for (const std::size_t parameter : parameters_) {
    const auto i = edge(node, genome[parameter]);
    if (!i) return std::nullopt;
    rank += before_[*i];
    node = children_[*i];
  }
  return rank;
}

void Diagram::descend(std::size_t level, Node node, std::uint64_t index, Genome& genome) const {
  for (; level < parameters_.size(); ++level) {
    const auto first = before_.begin() + static_cast<std::ptrdiff_t>(first_edge(node));
    const auto last = before_.begin() + static_cast<std::ptrdiff_t>(last_edge(node));
    const auto i =
        static_cast<std::size_t>(std::upper_bound(first, last, index) - before_.begin()) - 1;
    index -= before_[i];
    genome[parameters_[level]] = digits_[i];
    node = children_[i];
  }
}

void Diagram::sample(Random& random, Genome& genome) const {
  Node node = root_;
  std::size_t level = 0;
  // Counts below this node are too large to be known: their sizes decide.
  for (; counts_[node] == UINT64_MAX; ++level) {
    double draw = random.uniform() * sizes_[node];
    std::size_t i = first_edge(node);
    for (; i + 1 < last_edge(node); ++i) {
      draw -= sizes_[children_[i]];
      if (draw < 0) break;
    }
    genome[parameters_[level]] = digits_[i];
    node = children_[i];
  }
  descend(level, node, random.below(counts_[node]), genome);
}

DiagramWriter::DiagramWriter(std::vector<std::size_t> parameters) : levels_(parameters.size()) {
  diagram_.parameters_ = std::move(parameters);
}

Diagram::Node DiagramWriter::add(std::size_t level, std::span<const Edge> edges) {
  if (edges.empty()) return nowhere;
  key_.clear();
  for (const Edge& edge : edges) key_.push_back(std::uint64_t{edge.digit} << 32 | edge.child);
  Level& known = levels_[level];
  const auto [number, is_new] = known.keys.insert(key_);
  if (!is_new) return known.nodes[number];

  const auto node = static_cast<Diagram::Node>(diagram_.counts_.size());
  known.nodes.push_back(node);
  std::uint64_t count = 0;
  double size = 0;
  auto absent = static_cast<std::uint16_t>(UINT16_MAX);
  for (const Edge& edge : edges) {
    diagram_.digits_.push_back(edge.digit);
    diagram_.children_.push_back(edge.child);
    diagram_.before_.push_back(count);
    count = add_saturating(count, diagram_.counts_[edge.child]);
    size += diagram_.sizes_[edge.child];
    const int here = edge.digit == inactive_gene ? 1 : 0;
    absent = std::min(absent, static_cast<std::uint16_t>(diagram_.absent_[edge.child] + here));
  }
  diagram_.counts_.push_back(count);
  diagram_.sizes_.push_back(size);
  diagram_.absent_.push_back(absent);
  diagram_.first_edge_.push_back(static_cast<std::uint32_t>(diagram_.digits_.size()));
  return node;
}

Diagram DiagramWriter::finish(Diagram::Node root) && {
  diagram_.root_ = root;
  diagram_.digits_.shrink_to_fit();
  diagram_.children_.shrink_to_fit();
  diagram_.before_.shrink_to_fit();
  return std::move(diagram_);
}

}  // namespace fa_tune
