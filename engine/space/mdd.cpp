#include "engine/space/mdd.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace fa_tune::space {
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
  if (node == kNowhere) return false;
  for (const std::size_t parameter : parameters_) {
    const auto i = edge(node, genome[parameter]);
    if (!i) return false;
    node = children_[*i];
  }
  return true;
}

std::optional<std::uint64_t> Diagram::rank(const Genome& genome) const {
  Node node = root_;
  if (node == kNowhere) return std::nullopt;
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
  if (edges.empty()) return kNowhere;
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
    const int here = edge.digit == kInactiveGene ? 1 : 0;
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

// Finds, level by level, the paths of a diagram that miss at most a given number of a wish's genes.
// A place is a node together with the misses on the way to it, and knows how many ways lead there.
// Few misses leave few places, so the bound starts low and rises until a path gets through. Misses
// that are sure to come are counted in advance.
class NearestSearch {
 public:
  NearestSearch(const Diagram& diagram, const Genome& wish)
      : diagram_(diagram), wish_(wish), wishless_(diagram.parameters().size() + 1, 0) {
    for (std::size_t level = wishless_.size() - 1; level-- > 0;)
      wishless_[level] =
          wishless_[level + 1] + (wish[diagram.parameters()[level]] == kInactiveGene ? 1 : 0);
  }

  // Fewer misses than this are not possible.
  std::size_t least() const { return sure_misses(0, diagram_.root_); }

  // Whether a path exists with at most `bound` misses.
  bool reach(std::size_t bound) {
    levels_.assign(1, {});
    arrivals_.clear();
    (void)place(levels_.back(), diagram_.root_, 0, 1);
    for (const std::size_t parameter : diagram_.parameters()) advance(wish_[parameter], bound);
    return !levels_.back().places.empty();
  }

  // A path with exactly `misses`, each with the same chance; false if there is none.
  bool draw(std::size_t misses, Random& random, Genome& genome) const {
    const auto& places = levels_.back().places;
    const auto last = std::ranges::find(places, misses, &Place::misses);
    if (last == places.end()) return false;
    auto at = static_cast<std::uint32_t>(last - places.begin());
    for (std::size_t level = arrivals_.size(); level-- > 0;) {
      const Place& here = levels_[level + 1].places[at];
      double draw = random.uniform() * here.ways;
      std::uint32_t i = here.last_arrival;
      for (; arrivals_[level][i].next != kNone; i = arrivals_[level][i].next) {
        draw -= levels_[level].places[arrivals_[level][i].from].ways;
        if (draw < 0) break;
      }
      genome[diagram_.parameters()[level]] = arrivals_[level][i].digit;
      at = arrivals_[level][i].from;
    }
    return true;
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  struct Place {
    Diagram::Node node = 0;
    std::size_t misses = 0;
    double ways = 0;
    std::uint32_t last_arrival = kNone;  // the first of a list
  };
  struct Arrival {
    std::uint32_t from = 0;  // a place of the level before
    std::uint32_t next = kNone;
    Gene digit = 0;
  };
  struct Level {
    std::vector<Place> places;
    std::unordered_map<std::uint64_t, std::uint32_t> numbers;  // by node and misses
  };

  static std::uint32_t place(Level& level, Diagram::Node node, std::size_t misses, double ways) {
    const std::uint64_t key = std::uint64_t{misses} << 32 | node;
    const auto [found, is_new] =
        level.numbers.try_emplace(key, static_cast<std::uint32_t>(level.places.size()));
    if (is_new) level.places.push_back({node, misses, 0, kNone});
    level.places[found->second].ways += ways;
    return found->second;
  }

  std::size_t sure_misses(std::size_t level, Diagram::Node node) const {
    return std::max<std::size_t>(wishless_[level], diagram_.absent_[node]);
  }

  void advance(Gene wanted, std::size_t bound) {
    const std::size_t level = levels_.size();
    levels_.emplace_back();
    arrivals_.emplace_back();
    const Level& before = levels_[levels_.size() - 2];
    Level& after = levels_.back();
    std::vector<Arrival>& arrivals = arrivals_.back();
    for (std::uint32_t from = 0; from < before.places.size(); ++from) {
      const Place here = before.places[from];
      const auto take = [&](std::size_t i, std::size_t misses) {
        if (misses + sure_misses(level, diagram_.children_[i]) > bound) return;
        const std::uint32_t to = place(after, diagram_.children_[i], misses, here.ways);
        arrivals.push_back({from, after.places[to].last_arrival, diagram_.digits_[i]});
        after.places[to].last_arrival = static_cast<std::uint32_t>(arrivals.size() - 1);
      };
      if (here.misses < bound) {
        for (std::size_t i = diagram_.first_edge(here.node); i < diagram_.last_edge(here.node); ++i)
          take(i, here.misses + (meets(diagram_.digits_[i], wanted) ? 0 : 1));
      } else if (wanted != kInactiveGene) {
        if (const auto i = diagram_.edge(here.node, wanted)) take(*i, here.misses);
      }
    }
    after.numbers.clear();
  }

  // An absent gene meets no wish.
  static bool meets(Gene digit, Gene wanted) { return digit == wanted && digit != kInactiveGene; }

  const Diagram& diagram_;
  const Genome& wish_;
  std::vector<std::size_t> wishless_;           // genes that wish for nothing, from a level on
  std::vector<Level> levels_;                   // one more than the diagram has
  std::vector<std::vector<Arrival>> arrivals_;  // at levels_[i + 1]
};

bool Diagram::nearest(const Genome& wish, std::size_t slack, Random& random, Genome& genome) const {
  NearestSearch search(*this, wish);
  std::size_t bound = search.least();
  while (!search.reach(bound)) ++bound;
  const std::size_t fewest = bound;
  if (slack > 0) (void)search.reach(fewest + slack);
  return search.draw(fewest + slack, random, genome);
}

}  // namespace fa_tune::space
