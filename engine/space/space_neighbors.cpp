#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "engine/space/config_set.hpp"
#include "engine/util/random.hpp"

namespace fa_tune::space {
namespace {

bool one_place_apart(Gene one, Gene other) { return one + 1 == other || other + 1 == one; }

// Walks the configs that share with a genome all genes but one or two, and but those that do not
// exist there. Genes of other groups than the moved ones stay as they are.
class NeighborSearch {
 public:
  NeighborSearch(const ConfigSet& configs, const Genome& genome, std::vector<Genome>& out)
      : configs_(configs),
        genome_(genome),
        out_(out),
        moves_(genome.size(), Moves::none),
        here_(genome) {}

  // Genes that appear take values by chance, `draws` times, instead of all.
  void draw_those_that_appear(Random& random, int draws) {
    random_ = &random;
    draws_ = draws;
  }

  void one_gene(bool adjacent) {
    for (std::size_t gene = 0; gene < genome_.size(); ++gene) {
      if (genome_[gene] == kInactiveGene || (adjacent && !has_order(gene))) continue;
      moves_[gene] = adjacent ? Moves::one_place : Moves::any;
      const auto first = static_cast<std::ptrdiff_t>(out_.size());
      drew_ = true;
      for (int draw = 0; draw < draws_ && drew_; ++draw) {
        drew_ = false;
        walk({&configs_.diagram_of(gene)});
      }
      if (draws_ > 1) drop_repeated(first);
      moves_[gene] = Moves::none;
    }
  }

  void linked() {
    find_single_moves();
    for (std::size_t gene = 0; gene < genome_.size(); ++gene) {
      if (genome_[gene] == kInactiveGene) continue;
      for (std::size_t other = gene + 1; other < genome_.size(); ++other)
        if (genome_[other] != kInactiveGene && is_linked(gene, other)) move_pair(gene, other);
    }
  }

  // What Diagram::walk asks.
  std::optional<Gene> only(std::size_t gene) const {
    if (moves_[gene] != Moves::none || genome_[gene] == kInactiveGene) return std::nullopt;
    return genome_[gene];
  }
  std::optional<std::size_t> pick(std::size_t gene, std::size_t of) {
    if (random_ == nullptr || moves_[gene] != Moves::none) return std::nullopt;
    drew_ = true;
    return random_->below(of);
  }
  bool tries(std::size_t gene, Gene digit) const {
    const Gene old = genome_[gene];
    if (moves_[gene] == Moves::none) return true;  // did not exist, any value will do
    if (digit == old || (!alone_.empty() && alone_[gene][digit])) return false;
    const bool near = one_place_apart(digit, old);
    return moves_[gene] == Moves::any || near == (moves_[gene] == Moves::one_place);
  }
  void found() {
    if (open_.empty()) {
      if (configs_.passes(here_)) out_.push_back(here_);
      return;
    }
    const Diagram* next = open_.back();
    open_.pop_back();
    next->walk(*this, here_);
    open_.push_back(next);
  }

 private:
  enum class Moves { none, one_place, any, further };

  const Parameter& parameter(std::size_t gene) const {
    return configs_.plan().parts().parameters[gene];
  }
  bool has_order(std::size_t gene) const {
    return !std::holds_alternative<std::string>(parameter(gene).values[0]);
  }
  bool is_linked(std::size_t gene, std::size_t other) const {
    const auto& linked = configs_.plan().linked(gene);
    return configs_.is_list() || std::ranges::binary_search(linked, other);
  }

  // Two draws may be the same.
  void drop_repeated(std::ptrdiff_t first) {
    std::ranges::sort(out_.begin() + first, out_.end());
    const auto rest = std::ranges::unique(out_.begin() + first, out_.end());
    out_.erase(rest.begin(), rest.end());
  }

  // The first diagram is walked last, so that it changes fastest.
  void walk(std::vector<const Diagram*> diagrams) {
    open_ = std::move(diagrams);
    found();
    here_ = genome_;
  }

  // Which values each gene could take alone.
  void find_single_moves() {
    std::vector<std::vector<bool>> alone(genome_.size());
    for (std::size_t gene = 0; gene < genome_.size(); ++gene)
      alone[gene].resize(parameter(gene).values.size());
    one_gene(false);
    for (const Genome& genome : out_)
      for (std::size_t gene = 0; gene < genome_.size(); ++gene)
        if (genome_[gene] != kInactiveGene && genome[gene] != kInactiveGene &&
            genome[gene] != genome_[gene])
          alone[gene][genome[gene]] = true;
    out_.clear();
    alone_ = std::move(alone);
  }

  void move_pair(std::size_t gene, std::size_t other) {
    const std::size_t pairs = parameter(gene).values.size() * parameter(other).values.size();
    if (pairs <= kMostPairValues) {
      walk_pair(gene, Moves::any, other, Moves::any);
      return;
    }
    walk_pair(gene, Moves::one_place, other, Moves::any);
    walk_pair(gene, Moves::further, other, Moves::one_place);
  }

  void walk_pair(std::size_t gene, Moves moves, std::size_t other, Moves other_moves) {
    moves_[gene] = moves;
    moves_[other] = other_moves;
    const Diagram* one = &configs_.diagram_of(gene);
    const Diagram* two = &configs_.diagram_of(other);
    if (one == two)
      walk({one});
    else
      walk({two, one});
    moves_[gene] = Moves::none;
    moves_[other] = Moves::none;
  }

  const ConfigSet& configs_;
  const Genome& genome_;
  std::vector<Genome>& out_;
  std::vector<Moves> moves_;
  Genome here_;
  std::vector<const Diagram*> open_;  // still to be walked
  Random* random_ = nullptr;          // genes that appear take every value
  int draws_ = 1;
  bool drew_ = false;
  std::vector<std::vector<bool>> alone_;  // empty until the search for linked moves begins
};

}  // namespace

void Space::neighbors(const Genome& genome, Neighborhood neighborhood,
                      std::vector<Genome>& out) const {
  out.clear();
  if (!valid(genome)) return;
  NeighborSearch search(*configs_, genome, out);
  if (neighborhood == Neighborhood::linked)
    search.linked();
  else
    search.one_gene(neighborhood == Neighborhood::adjacent);
}

void Space::moves(const Genome& genome, int draws, Random& random, std::vector<Genome>& out) const {
  out.clear();
  if (!valid(genome)) return;
  NeighborSearch search(*configs_, genome, out);
  search.draw_those_that_appear(random, draws);
  search.one_gene(false);
}

}  // namespace fa_tune::space
