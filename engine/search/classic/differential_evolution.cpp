#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "engine/search/classic/classic_search.hpp"
#include "engine/search/strategy_spec.hpp"

namespace fa_tune::search {
namespace {

constexpr std::size_t kPopulation = 20;
// Scale of the differences and rate of crossover: the middle of what Storn and Price advise.
constexpr double kScale = 0.7;
constexpr double kCross = 0.5;
// Tries, over all targets, to make a child that is new.
constexpr int kTries = 100;

// Differential evolution (Storn and Price 1997), variant current-to-best/1/bin, on digits: each
// gene of a child is its target's, or that plus scaled differences to the best member and between
// two others, rounded by chance to a neighbouring digit and repaired to the nearest valid config.
// Differences mean something where values are in order; text has none, and its genes are taken from
// one of the same members instead. A child replaces its target if it is faster.
// A population that has grown alike, and breeds nothing new, begins anew around its best.
class DifferentialEvolution : public ClassicSearch {
 public:
  explicit DifferentialEvolution(const SearchTask& task)
      : ClassicSearch(task, "differential evolution") {}

  std::string name() const override { return "differential_evolution"; }

 private:
  struct Member {
    space::Genome genome;
    Known known;
  };

  std::optional<Step> step() override {
    if (population_.size() < kPopulation) return std::nullopt;
    for (int attempt = 0; attempt < kTries; ++attempt) {
      const std::size_t target = next_++ % population_.size();
      space::Genome child = breed(target);
      if (const Known* known = find(child)) {
        select(target, child, *known);
      } else if (!taken(child)) {
        under_way_[child] = target;
        return Step{std::move(child), "differential", {population_[target].known.trial}};
      }
    }
    population_ = {Member(best())};
    under_way_.clear();
    return std::nullopt;
  }

  const Member& best() const {
    return *std::ranges::min_element(population_, {}, [](const Member& m) { return m.known.cost; });
  }

  std::size_t other_than(std::size_t one, std::size_t two) {
    while (true) {
      const std::size_t draw = random().below(population_.size());
      if (draw != one && draw != two) return draw;
    }
  }

  space::Genome breed(std::size_t target) {
    const space::Genome& own = population_[target].genome;
    const space::Genome& leader = best().genome;
    const std::size_t a = other_than(target, target);
    const std::size_t b = other_than(target, a);
    space::Genome child = own;
    const std::size_t sure = random().below(child.size());
    for (std::size_t gene = 0; gene < child.size(); ++gene)
      if (gene == sure || random().uniform() < kCross)
        child[gene] = mix(gene, own[gene], leader[gene], population_[a].genome[gene],
                          population_[b].genome[gene]);
    return space().nearest(child, random());
  }

  space::Gene mix(std::size_t gene, space::Gene own, space::Gene best, space::Gene a,
                  space::Gene b) {
    const auto& values = space().parts().parameters[gene].values;
    const bool ordered = !std::holds_alternative<std::string>(values.front());
    const space::Gene all[] = {own, best, a, b};
    if (!ordered || std::ranges::find(all, space::kInactiveGene) != std::end(all))
      return all[random().below(std::size(all))];
    const double wish =
        own + kScale * (static_cast<double>(best) - own) + kScale * (static_cast<double>(a) - b);
    const double rounded = std::floor(wish + random().uniform());
    return static_cast<space::Gene>(
        std::clamp(rounded, 0.0, static_cast<double>(values.size()) - 1));
  }

  void select(std::size_t target, const space::Genome& child, const Known& known) {
    if (known.cost < population_[target].known.cost) population_[target] = {child, known};
  }

  void learn(const space::Genome& genome, const Known& known) override {
    if (const auto found = under_way_.find(genome); found != under_way_.end()) {
      select(found->second, genome, known);
      under_way_.erase(found);
    } else if (population_.size() < kPopulation && known.passed()) {
      population_.push_back({genome, known});
    }
  }

  std::vector<Member> population_;
  std::size_t next_ = 0;                     // target
  space::GenomeMap<std::size_t> under_way_;  // child: its target
};

}  // namespace

std::unique_ptr<Strategy> make_differential_evolution(const SearchTask& task,
                                                      StrategySpec& /*spec*/) {
  return std::make_unique<DifferentialEvolution>(task);
}

}  // namespace fa_tune::search
