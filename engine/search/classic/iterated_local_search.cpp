#include <utility>

#include "engine/search/classic/classic_search.hpp"
#include "engine/search/strategy_spec.hpp"

namespace fa_tune::search {
namespace {

// Random configs, beside the presets, of which the best is where the first climb begins.
constexpr int kStart = 16;
// Genes that a kick draws anew: enough to leave a valley, too few to forget it.
constexpr int kKick = 3;
// Kicks from one local optimum that led to nothing better, before the search goes elsewhere.
constexpr int kPatience = 3;
// Tries of a kick to land on a config that was not tried.
constexpr int kTries = 50;

// Iterated local search (Lourenco, Martin and Stutzle 2003) with first improvement: neighbours in
// random order, and the first that is faster is where it goes on. At a local optimum it kicks, from
// the better one of this and the last.
class IteratedLocalSearch : public ClassicSearch {
 public:
  explicit IteratedLocalSearch(const SearchTask& task)
      : ClassicSearch(task, "iterated local search") {}

  std::string name() const override { return "ils"; }

 private:
  struct Place {
    space::Genome genome;
    Known known;
  };

  std::optional<Step> step() override {
    if (told_ < kStart || !here_.known.passed()) return std::nullopt;
    for (int round = 0; round < kTries; ++round) {
      while (next_ < order_.size()) {
        space::Genome& to = order_[next_++];
        const Known* known = find(to);
        if (known != nullptr && known->cost < here_.known.cost)
          go(to, *known);
        else if (known == nullptr && !taken(to))
          return Step{std::move(to), "climb", {here_.known.trial}};
      }
      if (auto kick = leave()) return kick;
      if (!here_.known.passed()) return std::nullopt;
    }
    return std::nullopt;
  }

  // A local optimum: kicks from it or from the one before. Nothing if the kick landed on a config
  // that is known, from which the climb goes on, or if the search begins anew.
  std::optional<Step> leave() {
    if (here_.known.cost < home_.known.cost) {
      home_ = here_;
      kicks_ = 0;
    }
    if (++kicks_ > kPatience) {
      home_ = here_ = {};
      order_.clear();
      next_ = 0;
      kicks_ = 0;
      return std::nullopt;
    }
    space::Genome to = kick(home_.genome);
    if (const Known* known = find(to); known != nullptr && known->passed()) {
      go(space::Genome(to), *known);
      return std::nullopt;
    }
    if (taken(to)) return std::nullopt;
    kicked_.insert(to);
    return Step{std::move(to), "kick", {home_.known.trial}};
  }

  space::Genome kick(space::Genome genome) {
    for (int i = 0; i < kKick; ++i) {
      const std::size_t gene = random().below(genome.size());
      genome[gene] = random_digit(gene);
    }
    return space().nearest(genome, random());
  }

  // `genome` is a copy: it may be one of those that are listed anew.
  void go(space::Genome genome, Known known) {
    here_ = {std::move(genome), known};
    next_ = 0;
    space().neighbors(here_.genome, space::Neighborhood::one_gene, order_);
    for (std::size_t i = order_.size(); i > 1; --i)
      std::swap(order_[i - 1], order_[random().below(i)]);
  }

  void learn(const space::Genome& genome, const Known& known) override {
    ++told_;
    const bool landed = kicked_.erase(genome) > 0 && known.passed();
    if (landed || known.cost < here_.known.cost) go(genome, known);
  }

  int told_ = 0;
  Place here_;
  Place home_;  // the local optimum that kicks start from
  int kicks_ = 0;
  std::vector<space::Genome> order_;  // neighbours of here_
  std::size_t next_ = 0;
  space::GenomeSet kicked_;  // under way
};

}  // namespace

std::unique_ptr<Strategy> make_iterated_local_search(const SearchTask& task,
                                                     StrategySpec& /*spec*/) {
  return std::make_unique<IteratedLocalSearch>(task);
}

}  // namespace fa_tune::search
