#include "engine/search/evolve/operators.hpp"

#include "engine/search/evolve/population.hpp"

namespace fa_tune {
namespace {

// Most genes are ordered (sizes, depths), and near a good value the next one is the best guess.
constexpr double kAdjacent = 0.5;
constexpr double kFurther = 0.35;
constexpr int kMostSteps = 4;

}  // namespace

bool Operators::step(Genome& genome, Neighborhood neighborhood, Random& random) const {
  space_.neighbors(genome, neighborhood, near_);
  if (near_.empty()) return false;
  genome = near_[random.below(near_.size())];
  return true;
}

const std::vector<Genome>& Operators::around(const Genome& genome) const {
  space_.neighbors(genome, Neighborhood::one_gene, near_);
  return near_;
}

Candidate Operators::random_child(Random& random) const {
  return {space_.sample_genome(random), "random", {}};
}

Candidate Operators::child(std::size_t which, const std::vector<Member>& parents,
                           Random& random) const {
  const std::string_view name = operator_names.at(which);
  if (parents.empty() || name == "random") return random_child(random);
  const Member& parent = choose_by_rank(parents, random);
  Candidate child{parent.genome, std::string(name), {parent.number}};
  const auto near = [&] {
    return random.uniform() < kAdjacent ? Neighborhood::adjacent : Neighborhood::one_gene;
  };
  if (name == "mutate") {
    if (step(child.genome, near(), random)) return child;
  } else if (name == "link") {
    if (step(child.genome, Neighborhood::linked, random)) return child;
  } else if (name == "leap") {
    bool moved = false;
    for (int steps = 0; steps < 2 || (steps < kMostSteps && random.uniform() < kFurther); ++steps)
      moved = step(child.genome, near(), random) || moved;
    if (moved) return child;
  } else if (parents.size() > 1) {
    const Member& other = choose_by_rank(parents, random);
    if (other.number != parent.number) {
      for (std::size_t gene = 0; gene < child.genome.size(); ++gene)
        if (random.uniform() < 0.5) child.genome[gene] = other.genome[gene];
      child.genome = space_.nearest(child.genome, random);
      child.parents.push_back(other.number);
      return child;
    }
  }
  return random_child(random);
}

}  // namespace fa_tune
