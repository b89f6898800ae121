#include "engine/search/evolve/operators.hpp"

#include <algorithm>

#include "engine/search/evolve/population.hpp"

namespace fa_tune::search {
namespace {

// Most genes are ordered (sizes, depths), and near a good value the next one is the best guess.
constexpr double kAdjacent = 0.5;
constexpr double kFurther = 0.35;
constexpr int kMostSteps = 4;
// Ways to give values to genes that a move makes appear, of one step and among all moves from a
// config.
constexpr int kDrawsOfStep = 2;
constexpr int kDrawsAround = 8;

}  // namespace

bool Operators::step(space::Genome& genome, Random& random) const {
  if (near_.empty()) return false;
  genome = near_[random.below(near_.size())];
  return true;
}

bool Operators::mutate(space::Genome& genome, Random& random) const {
  if (random.uniform() < kAdjacent)
    space_.neighbors(genome, space::Neighborhood::adjacent, near_);
  else
    space_.moves(genome, kDrawsOfStep, random, near_);
  return step(genome, random);
}

const std::vector<space::Genome>& Operators::around(const space::Genome& genome,
                                                    Random& random) const {
  space_.moves(genome, kDrawsAround, random, near_);
  return near_;
}

Candidate Operators::random_child(Random& random) const {
  return {space_.sample_genome(random), "random", {}};
}

Candidate Operators::child(std::size_t which, const std::vector<Member>& parents,
                           Random& random) const {
  const std::string_view name = kOperatorNames.at(which);
  if (parents.empty() || name == "random") return random_child(random);
  const Member& parent = choose_by_rank(parents, random);
  Candidate child{parent.genome, std::string(name), {parent.number}};
  if (name == "mutate") {
    if (mutate(child.genome, random)) return child;
  } else if (name == "link") {
    space_.neighbors(child.genome, space::Neighborhood::linked, near_);
    if (step(child.genome, random)) return child;
  } else if (name == "leap") {
    bool moved = false;
    for (int steps = 0; steps < 2 || (steps < kMostSteps && random.uniform() < kFurther); ++steps)
      moved = mutate(child.genome, random) || moved;
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

namespace {

// Valid genomes of a run: its pick, then its trials that passed, fastest first.
std::vector<space::Genome> best_first(const space::Space& space, const PriorTrials& run) {
  std::vector<const Evaluation*> passed;
  for (const Evaluation& told : run.trials)
    if (told.passed && told.time_us && space.index_of(told.config)) passed.push_back(&told);
  std::ranges::stable_sort(passed, {}, [](const Evaluation* told) { return *told->time_us; });
  std::vector<space::Genome> genomes;
  if (run.pick && space.index_of(*run.pick)) genomes.push_back(space.genome(*run.pick));
  for (const Evaluation* told : passed) genomes.push_back(space.genome(told->config));
  return genomes;
}

bool alike(const space::Genome& a, const space::Genome& b) {
  int different = 0;
  for (std::size_t gene = 0; gene < a.size(); ++gene) different += a[gene] != b[gene];
  return different < 2;
}

}  // namespace

std::vector<space::Genome> configs_to_transfer(const space::Space& space,
                                               const std::vector<PriorTrials>& earlier,
                                               std::size_t most) {
  std::vector<std::vector<space::Genome>> runs;
  for (const PriorTrials& run : earlier) runs.push_back(best_first(space, run));
  std::vector<std::size_t> next(runs.size(), 0);
  std::vector<space::Genome> chosen;
  for (bool more = true; more && chosen.size() < most;) {
    more = false;
    for (std::size_t run = 0; run < runs.size() && chosen.size() < most; ++run) {
      const auto known = [&](const space::Genome& genome) {
        return std::ranges::any_of(chosen,
                                   [&](const space::Genome& one) { return alike(one, genome); });
      };
      while (next[run] < runs[run].size() && known(runs[run][next[run]])) ++next[run];
      if (next[run] == runs[run].size()) continue;
      chosen.push_back(runs[run][next[run]]);
      more = true;
    }
  }
  return chosen;
}

}  // namespace fa_tune::search
