#include "engine/search/evolve/spread.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <variant>

namespace fa_tune::search {

Spread::Spread(const space::Space& space) {
  for (const space::Parameter& parameter : space.parts().parameters) {
    const bool words = std::holds_alternative<std::string>(parameter.values.front());
    circles_.push_back(words ? 0 : static_cast<double>(parameter.values.size()));
  }
}

double Spread::apart(std::size_t gene, space::Gene a, space::Gene b) const {
  if (a == b) return 0;
  const double circle = circles_[gene];
  if (circle == 0 || a == space::kInactiveGene || b == space::kInactiveGene) return 1;
  const double steps = std::abs(static_cast<double>(a) - static_cast<double>(b));
  return 0.5 + std::min(steps, circle - steps) / circle;
}

double Spread::nearest(const space::Genome& genome) const {
  double nearest = std::numeric_limits<double>::infinity();
  for (const space::Genome& other : taken_) {
    double distance = 0;
    for (std::size_t gene = 0; gene < genome.size(); ++gene)
      distance += apart(gene, genome[gene], other[gene]);
    nearest = std::min(nearest, distance);
  }
  return nearest;
}

}  // namespace fa_tune::search
