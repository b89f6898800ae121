#include <algorithm>
#include <cstddef>
#include <cstdlib>

#include "engine/search/archive.hpp"
#include "engine/search/strategies.hpp"

namespace fa_tune {
namespace {

// A random start that is broad enough to hold every family of the space a few times over, yet a
// small part of the smallest useful budget.
constexpr int kStart = 24;
// Parents come from the fastest right trials; further down there is little that the best have not
// got.
constexpr std::size_t kElites = 16;
// Shares of the operators once there are parents. Immigrants keep the search from closing in for
// good.
constexpr double kMutate = 0.60;
constexpr double kCrossover = 0.28;
// How many genes a mutation moves: most move one; a few move more, to cross a ridge.
constexpr double kFurther = 0.25;
constexpr int kMostMoves = 4;
// Moves to the next value up or down. Most genes are ordered (sizes, depths), and near a good value
// the next one is the best guess; the other moves may go anywhere.
constexpr double kAdjacent = 0.5;
constexpr int kAttempts = 40;

// EvoEngineer's loop over genomes: presets and random configs to begin with, then children of
// parents chosen by rank (p ~ 1 / (rank + population)), by mutation to neighbours, by crossover
// repaired to the nearest valid config, and immigrants. Elites are never lost: the population is
// what the archive holds.
class Evolution : public Strategy {
 public:
  explicit Evolution(const SearchTask& task)
      : space_(task.space), archive_(task.space), random_(derive_seed(task.seed, "evolution")) {}

  std::string name() const override { return "evolve"; }

  std::vector<Proposal> ask(int n) override {
    std::vector<Proposal> proposals;
    while (static_cast<int>(proposals.size()) < n) {
      auto proposal = next();
      if (!proposal) break;
      archive_.claim(proposal->config);
      ++asked_;
      proposals.push_back(std::move(*proposal));
    }
    return proposals;
  }

  void tell(const Told& told) override { archive_.tell(told); }
  void take(const Config& config) override { archive_.claim(config); }

 private:
  std::optional<Proposal> next() {
    const auto& presets = space_.parts().presets;
    while (next_preset_ < presets.size()) {
      const Config& config = presets[next_preset_++].config;
      if (!archive_.claimed(config)) return Proposal{config, "preset", {}};
    }
    const double draw = random_.uniform();
    if (asked_ >= kStart && !archive_.ranked().empty()) {
      auto child = draw < kMutate                ? mutate()
                   : draw < kMutate + kCrossover ? crossover()
                                                 : std::nullopt;
      if (child) return child;
    }
    const auto config = archive_.random_unclaimed(random_);
    if (!config) return std::nullopt;
    return Proposal{*config, "random", {}};
  }

  const Told& parent() {
    const auto& ranked = archive_.ranked();
    const std::size_t n = std::min(kElites, ranked.size());
    double total = 0;
    for (std::size_t rank = 0; rank < n; ++rank) total += 1.0 / static_cast<double>(rank + 1 + n);
    double draw = random_.uniform() * total;
    for (std::size_t rank = 0; rank < n; ++rank) {
      draw -= 1.0 / static_cast<double>(rank + 1 + n);
      if (draw < 0) return ranked[rank];
    }
    return ranked[n - 1];
  }

  // One gene differs, by one place in its list of values.
  bool adjacent(const Config& from, const Config& to) const {
    std::ptrdiff_t distance = 0;
    for (const Parameter& parameter : space_.parts().parameters) {
      const Value* a = from.find(parameter.name);
      const Value* b = to.find(parameter.name);
      if ((a == nullptr) != (b == nullptr)) return false;
      if (a == nullptr || *a == *b) continue;
      const auto& values = parameter.values;
      distance += std::abs(std::ranges::find(values, *a) - std::ranges::find(values, *b));
    }
    return distance == 1;
  }

  std::optional<Proposal> mutate() {
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      const Told& from = parent();
      Config config = from.config;
      int moves = 1;
      while (moves < kMostMoves && random_.uniform() < kFurther) ++moves;
      for (int move = 0; move < moves; ++move) {
        auto around = space_.neighbors(config);
        if (random_.uniform() < kAdjacent)
          std::erase_if(around, [&](const Config& to) { return !adjacent(config, to); });
        if (!around.empty()) config = around[random_.below(around.size())];
      }
      if (!archive_.claimed(config)) return Proposal{config, "mutate", {from.number}};
    }
    return std::nullopt;
  }

  std::optional<Proposal> crossover() {
    if (archive_.ranked().size() < 2) return std::nullopt;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      const Told& one = parent();
      const Told& other = parent();
      if (one.number == other.number) continue;
      Config wish = one.config;
      for (const auto& [name, value] : other.config.settings())
        if (random_.uniform() < 0.5) wish.set(name, value);
      Config config = space_.nearest(wish, random_);
      if (!archive_.claimed(config))
        return Proposal{config, "crossover", {one.number, other.number}};
    }
    return std::nullopt;
  }

  const Space& space_;
  Archive archive_;
  Random random_;
  std::size_t next_preset_ = 0;
  int asked_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_evolution(const SearchTask& task, StrategySpec& /*spec*/) {
  return std::make_unique<Evolution>(task);
}

}  // namespace fa_tune
