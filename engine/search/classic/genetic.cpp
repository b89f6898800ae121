#include <algorithm>
#include <utility>

#include "engine/search/classic/classic_search.hpp"
#include "engine/search/strategy_spec.hpp"

namespace fa_tune::search {
namespace {

// Small, because a budget is a few hundred trials: sixteen generations of two hundred.
constexpr std::size_t kPopulation = 12;
// The best of a generation live on, so that nothing good is lost.
constexpr std::size_t kElites = 2;
// Each parent is the best of this many drawn: a hard choice, for the same reason.
constexpr std::size_t kTournament = 4;
// Tries to breed a child that is new, before one is drawn at random: a population that has grown
// alike breeds what was tried before.
constexpr int kTries = 50;

// The generational genetic algorithm (Holland 1975; tournaments after Goldberg and Deb 1991):
// uniform crossover of two parents, mutation of one gene in a child on average, both repaired to
// the nearest valid config.
class Genetic : public ClassicSearch {
 public:
  explicit Genetic(const SearchTask& task) : ClassicSearch(task, "genetic") {}

  std::string name() const override { return "genetic"; }

 private:
  struct Member {
    space::Genome genome;
    Known known;
  };

  std::optional<Step> step() override {
    if (population_.size() < 2) return std::nullopt;
    for (int attempt = 0; attempt < kTries; ++attempt) {
      const Member& mother = select();
      const Member& father = select();
      space::Genome child = breed(mother.genome, father.genome);
      if (taken(child)) continue;
      std::vector<std::uint64_t> parents = {mother.known.trial};
      if (father.known.trial != mother.known.trial) parents.push_back(father.known.trial);
      return Step{std::move(child), "crossover", std::move(parents)};
    }
    return std::nullopt;
  }

  const Member& select() {
    const Member* best = nullptr;
    for (std::size_t draw = 0; draw < kTournament; ++draw) {
      const Member& one = population_[random().below(population_.size())];
      if (best == nullptr || one.known.cost < best->known.cost) best = &one;
    }
    return *best;
  }

  space::Genome breed(const space::Genome& mother, const space::Genome& father) {
    space::Genome child = mother;
    const double rate = 1.0 / static_cast<double>(child.size());
    for (std::size_t gene = 0; gene < child.size(); ++gene) {
      if (random().uniform() < 0.5) child[gene] = father[gene];
      if (random().uniform() < rate) child[gene] = random_digit(gene);
    }
    return space().nearest(child, random());
  }

  // A generation is this many outcomes. Failures count; they just leave no children. What is under
  // way when it is complete counts to the next one.
  void learn(const space::Genome& genome, const Known& known) override {
    ++told_;
    if (known.passed()) next_.push_back({genome, known});
    if (told_ < kPopulation) return;
    const auto better = [](const Member& a, const Member& b) {
      return a.known.cost < b.known.cost;
    };
    std::ranges::stable_sort(population_, better);
    const std::size_t elites = std::min(kElites, population_.size());
    next_.insert(next_.end(), population_.begin(),
                 population_.begin() + static_cast<std::ptrdiff_t>(elites));
    population_ = std::exchange(next_, {});
    told_ = 0;
  }

  std::vector<Member> population_;
  std::vector<Member> next_;
  std::size_t told_ = 0;  // of the generation that is being tried
};

}  // namespace

std::unique_ptr<Strategy> make_genetic(const SearchTask& task, StrategySpec& /*spec*/) {
  return std::make_unique<Genetic>(task);
}

}  // namespace fa_tune::search
