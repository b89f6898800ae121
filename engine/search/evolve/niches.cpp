#include "engine/search/evolve/niches.hpp"

#include <algorithm>
#include <sstream>

#include <fmt/core.h>

#include "engine/util/error.hpp"

namespace fa_tune::search {
namespace {

// A kernel further behind than this will hardly be the fastest at another shape. What has had few
// turns may still come near.
constexpr double kFarBehind = 1.5;
constexpr std::size_t kTurnsToComeNear = 12;
// Parents of a niche's children.
constexpr std::size_t kFastestKept = 4;
// Turns of a niche in which nothing has passed.
constexpr std::size_t kTriesOfNiche = 3;

}  // namespace

Niches::Niches(const space::Space& space, const std::string& genes) {
  const std::vector<space::Parameter>& parameters = space.parts().parameters;
  std::istringstream names(genes);
  std::size_t combinations = 1;
  for (std::string name; std::getline(names, name, '+');) {
    const auto found = std::ranges::find(parameters, name, &space::Parameter::name);
    if (found == parameters.end())
      throw UserError(fmt::format(
          "strategy 'evolve': niches has '{}', which is no parameter of this space; expected "
          "names of parameters, as in niches=A+B",
          name));
    const auto gene = static_cast<std::size_t>(found - parameters.begin());
    if (std::ranges::find(genes_, gene) != genes_.end())
      throw UserError(fmt::format("strategy 'evolve': niches has '{}' twice", name));
    genes_.push_back(gene);
    combinations *= found->values.size();
    if (combinations > kMost)
      throw UserError(fmt::format(
          "strategy 'evolve': niches={} has more than {} combinations of values, too many for a "
          "search to look after",
          genes, kMost));
  }
  for (std::size_t combination = 0; combination < combinations; ++combination) {
    space::Genome digits;
    std::size_t rest = combination;
    for (const std::size_t gene : genes_) {
      const std::size_t values = parameters[gene].values.size();
      digits.push_back(static_cast<space::Gene>(rest % values));
      rest /= values;
    }
    niches_[digits].digits = digits;
  }
}

space::Genome Niches::digits_of(const space::Genome& genome) const {
  space::Genome digits;
  for (const std::size_t gene : genes_) digits.push_back(genome[gene]);
  return digits;
}

space::Genome Niches::moved(space::Genome genome, const Niche& niche) const {
  for (std::size_t i = 0; i < genes_.size(); ++i) genome[genes_[i]] = niche.digits[i];
  return genome;
}

void Niches::take(const space::Genome& genome) {
  if (none()) return;
  space::Genome digits = digits_of(genome);
  Niche& niche = niches_[digits];
  niche.digits = std::move(digits);
  ++niche.turns;
}

void Niches::tell(const Member& member) {
  if (none()) return;
  std::vector<Member>& fastest = niches_[digits_of(member.genome)].fastest;
  fastest.insert(std::ranges::upper_bound(fastest, member.time_us, {}, &Member::time_us), member);
  if (fastest.size() > kFastestKept) fastest.pop_back();
}

const Niches::Niche* Niches::next(double best_us) const {
  const Niche* chosen = nullptr;
  for (const auto& [digits, niche] : niches_) {
    const bool worth = niche.fastest.empty()
                           ? niche.turns < kTriesOfNiche
                           : niche.turns < kTurnsToComeNear ||
                                 niche.fastest.front().time_us <= kFarBehind * best_us;
    if (worth && (!chosen || niche.turns < chosen->turns)) chosen = &niche;
  }
  return chosen;
}

}  // namespace fa_tune::search
