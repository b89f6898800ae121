#include <cmath>

#include "engine/search/classic/classic_search.hpp"
#include "engine/search/strategy_spec.hpp"

namespace fa_tune::search {
namespace {

// Random configs, beside the presets, of which the best is where the first walk begins.
constexpr int kStart = 16;
// Temperatures are of log time: at 0.1 a config that takes 1.1 times as long is accepted every e-th
// time, at 0.01 hardly one that takes 1.03 times as long.
constexpr double kHot = 0.1;
constexpr double kCold = 0.01;
// Trials from hot to cold, a walk's length: short enough for a budget of a hundred to see one.
constexpr double kWalk = 50;
// Moves to configs that were tried before cost no trial; after this many in a row it restarts.
constexpr int kFree = 200;
// Of all moves, those to the next value, and those of two genes that hang together; the others give
// one gene any value.
constexpr double kAdjacent = 0.5;
constexpr double kLinked = 0.1;

// Simulated annealing (Kirkpatrick, Gelatt and Vecchi 1983): a walk that takes every step that is
// faster, and one that is slower by a ratio r with probability r^(-1/T), T falling with each trial.
// When it is cold, or caught among tried configs, the next walk begins: by turns at a random config
// and at the best one so far, the latter half as hot on a logarithmic scale.
class SimulatedAnnealing : public ClassicSearch {
 public:
  explicit SimulatedAnnealing(const SearchTask& task)
      : ClassicSearch(task, "simulated annealing") {}

  std::string name() const override { return "simulated_annealing"; }

 private:
  std::optional<Step> step() override {
    if (told_ < kStart || best_.empty()) return std::nullopt;
    if (temperature_ < kCold) restart();
    if (current_.empty()) return std::nullopt;
    for (int move = 0; move < kFree; ++move) {
      space::Genome to = neighbor();
      const Known* known = find(to);
      if (known != nullptr)
        consider(to, *known);
      else if (!taken(to))
        return Step{std::move(to), "anneal", {at_.trial}};
    }
    restart();
    return std::nullopt;
  }

  void restart() {
    from_best_ = !from_best_;
    temperature_ = from_best_ ? std::sqrt(kHot * kCold) : kHot;
    current_ = from_best_ ? best_ : space::Genome{};
    at_ = from_best_ ? best_known_ : Known{};
  }

  space::Genome neighbor() {
    const double draw = random().uniform();
    space().neighbors(current_,
                      draw < kAdjacent             ? space::Neighborhood::adjacent
                      : draw < kAdjacent + kLinked ? space::Neighborhood::linked
                                                   : space::Neighborhood::one_gene,
                      around_);
    return around_.empty() ? current_ : around_[random().below(around_.size())];
  }

  void consider(const space::Genome& genome, const Known& known) {
    if (!known.passed()) return;
    const double worse = known.cost - at_.cost;
    if (worse > 0 && random().uniform() >= std::exp(-worse / temperature_)) return;
    current_ = genome;
    at_ = known;
  }

  void learn(const space::Genome& genome, const Known& known) override {
    ++told_;
    if (told_ > kStart) temperature_ *= std::pow(kCold / kHot, 1 / kWalk);
    if (known.cost < best_known_.cost) {
      best_ = genome;
      best_known_ = known;
    }
    if (told_ <= kStart) {
      current_ = best_;
      at_ = best_known_;
    } else {
      consider(genome, known);  // a walk that has no place yet begins here
    }
  }

  int told_ = 0;
  double temperature_ = kHot;
  bool from_best_ = false;
  space::Genome current_;  // empty while a walk waits for its first config
  Known at_;
  space::Genome best_;
  Known best_known_;
  std::vector<space::Genome> around_;
};

}  // namespace

std::unique_ptr<Strategy> make_simulated_annealing(const SearchTask& task, StrategySpec& /*spec*/) {
  return std::make_unique<SimulatedAnnealing>(task);
}

}  // namespace fa_tune::search
