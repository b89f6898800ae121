#include "engine/search/classic/classic_search.hpp"

#include <cmath>
#include <utility>

namespace fa_tune::search {

ClassicSearch::ClassicSearch(const SearchTask& task, std::string_view purpose)
    : space_(task.space), random_(derive_seed(task.seed, purpose)) {}

std::vector<Proposal> ClassicSearch::ask(int n) {
  std::vector<Proposal> proposals;
  while (static_cast<int>(proposals.size()) < n) {
    auto each = next();
    if (!each) break;
    taken_.insert(each->genome);
    proposals.push_back({space_.config(each->genome), each->operation, std::move(each->parents)});
  }
  return proposals;
}

std::optional<ClassicSearch::Step> ClassicSearch::next() {
  const auto& presets = space_.presets();
  while (next_preset_ < presets.size()) {
    space::Genome genome = space_.genome(presets[next_preset_++].config);
    if (!taken(genome)) return Step{std::move(genome), "preset", {}};
  }
  if (space_.exact() && taken_.size() >= space_.count()) return std::nullopt;
  if (auto own = step()) return own;
  if (auto genome = random_untaken()) return Step{std::move(*genome), "random", {}};
  return std::nullopt;
}

std::optional<space::Genome> ClassicSearch::random_untaken() {
  // Guessing is cheap while most are left. In a space too large to number it is all there is, and
  // enough: nobody tries a good part of one.
  const int guesses = space_.exact() ? 64 : 4096;
  for (int guess = 0; guess < guesses; ++guess) {
    space::Genome genome = space_.sample_genome(random_);
    if (!taken(genome)) return genome;
  }
  if (!space_.exact()) return std::nullopt;
  const std::uint64_t start = random_.below(space_.count());
  for (std::uint64_t i = 0; i < space_.count(); ++i) {
    space::Genome genome = space_.genome_at((start + i) % space_.count());
    if (!taken(genome)) return genome;
  }
  return std::nullopt;
}

void ClassicSearch::tell(const Evaluation& told) {
  space::Genome genome = space_.genome(told.config);
  Known known{told.number};
  if (told.passed && told.time_us) known.cost = std::log(*told.time_us);
  taken_.insert(genome);
  known_[genome] = known;
  learn(genome, known);
}

void ClassicSearch::take(const Config& config) { taken_.insert(space_.genome(config)); }

const ClassicSearch::Known* ClassicSearch::find(const space::Genome& genome) const {
  const auto found = known_.find(genome);
  return found == known_.end() ? nullptr : &found->second;
}

space::Gene ClassicSearch::random_digit(std::size_t parameter) {
  return static_cast<space::Gene>(
      random_.below(space_.parts().parameters[parameter].values.size()));
}

}  // namespace fa_tune::search
