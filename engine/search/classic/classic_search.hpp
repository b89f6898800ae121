#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/search/strategy.hpp"
#include "engine/space/genome.hpp"
#include "engine/util/random.hpp"

namespace fa_tune::search {

// What the textbook strategies share. Presets come first, as everywhere; then `step` says what to
// try, and where it has nothing to say a config is drawn at random. Nothing is asked for twice: a
// config whose outcome is known costs nothing to come back to, and strategies do come back, as the
// textbook has them do. Several configs may be under way at once, so a step must not count on the
// last one's outcome.
class ClassicSearch : public Strategy {
 public:
  std::vector<Proposal> ask(int n) final;
  void tell(const Evaluation& told) final;
  void take(const Config& config) final;

 protected:
  // How a tried genome came out. Costs are logarithms of times, so that differences are ratios of
  // times and no unit or kernel is special; that of a failure is infinite, which is worse than
  // anything and no place to go on from.
  struct Known {
    std::uint64_t trial = 0;
    double cost = std::numeric_limits<double>::infinity();
    bool passed() const { return cost < std::numeric_limits<double>::infinity(); }
  };
  struct Step {
    space::Genome genome;  // valid, and not taken
    const char* operation = "";
    std::vector<std::uint64_t> parents;
  };

  // `purpose` keeps the random streams of strategies apart.
  ClassicSearch(const SearchTask& task, std::string_view purpose);

  const space::Space& space() const { return space_; }
  Random& random() { return random_; }
  // The outcome, or nullptr while there is none.
  const Known* find(const space::Genome& genome) const;
  // Asked for before, by this strategy or another.
  bool taken(const space::Genome& genome) const { return taken_.contains(genome); }
  // One digit drawn anew among the parameter's values; the genome may not be valid afterwards.
  space::Gene random_digit(std::size_t parameter);

 private:
  virtual std::optional<Step> step() = 0;
  // Every outcome, in the order of trials; those of presets, random configs and of what others
  // tried too.
  virtual void learn(const space::Genome& genome, const Known& known) = 0;

  std::optional<Step> next();
  std::optional<space::Genome> random_untaken();

  const space::Space& space_;
  Random random_;
  std::size_t next_preset_ = 0;
  space::GenomeSet taken_;
  space::GenomeMap<Known> known_;
};

}  // namespace fa_tune::search
