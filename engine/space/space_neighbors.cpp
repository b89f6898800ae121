#include <algorithm>
#include <cstddef>
#include <vector>

#include "engine/space/space_walk.hpp"

namespace fa_tune {
namespace {

bool one_place_apart(Gene one, Gene other) { return one + 1 == other || other + 1 == one; }

// Walks the configs that share with a genome all genes but one or two, and but those that do not
// exist there.
class NeighborSearch {
 public:
  // `listed` is the space where it alone, and not the plan, says what is valid; else nullptr.
  NeighborSearch(const SpacePlan& plan, const Space* listed, const Genome& genome,
                 std::vector<Genome>& out)
      : plan_(plan),
        listed_(listed),
        genome_(genome),
        out_(out),
        moves_(genome.size(), Moves::none) {}

  void one_gene(bool adjacent) {
    for (std::size_t gene = 0; gene < genome_.size(); ++gene) {
      if (genome_[gene] == inactive_gene || (adjacent && !has_order(gene))) continue;
      moves_[gene] = adjacent ? Moves::one_place : Moves::any;
      SpaceWalk(plan_, *this).run();
      moves_[gene] = Moves::none;
    }
  }

  void linked() {
    find_single_moves();
    for (std::size_t gene = 0; gene < genome_.size(); ++gene) {
      if (genome_[gene] == inactive_gene) continue;
      if (listed_ != nullptr) {
        for (std::size_t other = gene + 1; other < genome_.size(); ++other) move_pair(gene, other);
        continue;
      }
      for (const std::size_t other : plan_.linked(gene))
        if (other > gene && genome_[other] != inactive_gene) move_pair(gene, other);
    }
  }

  bool tries(std::size_t level, Gene digit) const {
    const Gene here = genome_[level];
    const bool single = !alone_.empty() && alone_[level][digit];
    switch (moves_[level]) {
      case Moves::none:
        return here == inactive_gene || digit == here;
      case Moves::one_place:
        return one_place_apart(digit, here) && !single;
      case Moves::any:
        return digit != here && !single;
      case Moves::further:
        return digit != here && !one_place_apart(digit, here) && !single;
    }
    return false;
  }
  void refused(std::size_t, const SpacePlan::Step&) const {}
  void found(const Genome& genome) {
    if (listed_ == nullptr || listed_->valid(genome)) out_.push_back(genome);
  }

 private:
  enum class Moves { none, one_place, any, further };

  const Parameter& parameter(std::size_t gene) const { return plan_.parts().parameters[gene]; }
  bool has_order(std::size_t gene) const {
    return !std::holds_alternative<std::string>(parameter(gene).values[0]);
  }

  // Which values each gene could take alone.
  void find_single_moves() {
    std::vector<std::vector<bool>> alone(genome_.size());
    for (std::size_t gene = 0; gene < genome_.size(); ++gene)
      alone[gene].resize(parameter(gene).values.size());
    one_gene(false);
    for (const Genome& genome : out_)
      for (std::size_t gene = 0; gene < genome_.size(); ++gene)
        if (genome_[gene] != inactive_gene && genome[gene] != inactive_gene &&
            genome[gene] != genome_[gene])
          alone[gene][genome[gene]] = true;
    out_.clear();
    alone_ = std::move(alone);
  }

  void move_pair(std::size_t gene, std::size_t other) {
    const std::size_t pairs = parameter(gene).values.size() * parameter(other).values.size();
    if (pairs <= most_pair_values) {
      walk_pair(gene, Moves::any, other, Moves::any);
      return;
    }
    walk_pair(gene, Moves::one_place, other, Moves::any);
    walk_pair(gene, Moves::further, other, Moves::one_place);
  }

  void walk_pair(std::size_t gene, Moves moves, std::size_t other, Moves other_moves) {
    moves_[gene] = moves;
    moves_[other] = other_moves;
    SpaceWalk(plan_, *this).run();
    moves_[gene] = Moves::none;
    moves_[other] = Moves::none;
  }

  const SpacePlan& plan_;
  const Space* listed_;
  const Genome& genome_;
  std::vector<Genome>& out_;
  std::vector<Moves> moves_;
  std::vector<std::vector<bool>> alone_;  // empty until the search for linked moves begins
};

}  // namespace

void Space::neighbors(const Genome& genome, Neighborhood neighborhood,
                      std::vector<Genome>& out) const {
  out.clear();
  if (!valid(genome)) return;
  NeighborSearch search(*plan_, listed_ ? this : nullptr, genome, out);
  if (neighborhood == Neighborhood::linked)
    search.linked();
  else
    search.one_gene(neighborhood == Neighborhood::adjacent);
}

}  // namespace fa_tune
