#include "engine/search/evolve/twins.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

namespace fa_tune::search {
namespace {

// All but one gene.
space::Genome without(space::Genome genome, std::size_t gene) {
  genome[gene] = 0;
  return genome;
}

}  // namespace

space::Gene Twins::Rule::group(space::Gene value) const {
  for (auto found = group_.find(value); found != group_.end() && found->second != value;
       found = group_.find(value))
    value = found->second;
  return value;
}

void Twins::Rule::join(space::Gene a, space::Gene b) {
  a = group(a);
  b = group(b);
  group_[std::max(a, b)] = std::min(a, b);
}

void Twins::Rule::add(space::Gene a, space::Gene b, bool same, bool ordered,
                      const space::Genome& rest) {
  if (a > b) std::swap(a, b);
  if (!same) {
    different_.emplace_back(a, b);
    return;
  }
  // Of numbers, what lies between two that do the same does so too.
  const auto step = ordered ? space::Gene{1} : static_cast<space::Gene>(b - a);
  for (space::Gene value = a; value < b; value = static_cast<space::Gene>(value + step))
    join(value, static_cast<space::Gene>(value + step));
  // With two genes there is no elsewhere.
  if (rest_.empty())
    rest_ = rest;
  else
    repeated_ |= rest != rest_ || rest.size() == 2;
}

bool Twins::Rule::says(space::Gene a, space::Gene b) const {
  const space::Gene wanted = group(a);
  return repeated_ && wanted == group(b) && std::ranges::none_of(different_, [&](const auto& pair) {
           return group(pair.first) == wanted && group(pair.second) == wanted;
         });
}

Twins::Twins(const space::Space& space) {
  for (const space::Parameter& parameter : space.parts().parameters)
    ordered_.push_back(!std::holds_alternative<std::string>(parameter.values.front()));
  rules_.resize(ordered_.size());
  siblings_.resize(ordered_.size());
}

// Most spaces have no twins: until there is one, nothing is looked up.
void Twins::take(const space::Genome& genome) {
  if (any_)
    enter(genome);
  else
    taken_.push_back(genome);
}

void Twins::enter(const space::Genome& genome) {
  for (std::size_t gene = 0; gene < genome.size(); ++gene)
    if (genome[gene] != space::kInactiveGene)
      siblings_[gene][without(genome, gene)].push_back({genome[gene], 0});
}

void Twins::tell(const space::Genome& genome, std::uint64_t number, std::uint64_t twin) {
  const auto found = kernels_.find(twin);
  const std::uint64_t kernel = found == kernels_.end() ? number : found->second;
  kernels_[number] = kernel;
  if (twin == 0 && !any_) {
    told_.emplace_back(genome, kernel);
    return;
  }
  if (!any_) {
    any_ = true;
    for (const space::Genome& taken : std::exchange(taken_, {})) enter(taken);
    for (const auto& [earlier, its_kernel] : std::exchange(told_, {}))
      for (std::size_t gene = 0; gene < earlier.size(); ++gene) compare(gene, earlier, its_kernel);
  }
  for (std::size_t gene = 0; gene < genome.size(); ++gene) compare(gene, genome, kernel);
}

// With those that differ in this gene alone.
void Twins::compare(std::size_t gene, const space::Genome& genome, std::uint64_t kernel) {
  const space::Gene value = genome[gene];
  if (value == space::kInactiveGene) return;
  for (Sibling& sibling : siblings_[gene][without(genome, gene)]) {
    if (sibling.value == value) sibling.kernel = kernel;
    if (sibling.value == value || sibling.kernel == 0) continue;
    for (std::size_t other = 0; other < genome.size(); ++other) {
      if (other == gene) continue;
      rules_[gene][{other, genome[other]}].add(value, sibling.value, sibling.kernel == kernel,
                                               ordered_[gene],
                                               without(without(genome, gene), other));
    }
  }
}

bool Twins::likely(const space::Genome& genome) const {
  if (!any_) return false;
  for (std::size_t gene = 0; gene < genome.size(); ++gene)
    if (!rules_[gene].empty() && has_twin(gene, genome)) return true;
  return false;
}

bool Twins::has_twin(std::size_t gene, const space::Genome& genome) const {
  const auto found = siblings_[gene].find(without(genome, gene));
  if (found == siblings_[gene].end()) return false;
  for (std::size_t other = 0; other < genome.size(); ++other) {
    const auto rule = rules_[gene].find({other, genome[other]});
    if (other == gene || rule == rules_[gene].end()) continue;
    for (const Sibling& sibling : found->second)
      if (rule->second.says(genome[gene], sibling.value)) return true;
  }
  return false;
}

}  // namespace fa_tune::search
