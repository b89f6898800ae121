#include "engine/space/space.hpp"

#include <algorithm>
#include <stdexcept>

#include "engine/space/space_plan.hpp"

namespace fa_tune {

const SpaceParts& Space::parts() const { return plan_->parts(); }

std::uint64_t Space::count() const {
  return plan_ == nullptr ? 0 : rows_->size() / plan_->levels().size();
}

double Space::cartesian() const {
  double product = 1;
  for (const Parameter& parameter : parts().parameters)
    product *= static_cast<double>(parameter.values.size());
  return product;
}

Genome Space::genome(const Config& config) const {
  auto digits = plan_->digits_of(config);
  if (!digits) throw std::logic_error("Space::genome: of another space: " + config.to_json());
  return std::move(*digits);
}

Config Space::config(const Genome& genome) const {
  std::vector<std::pair<std::string, Value>> settings;
  settings.reserve(genome.size());
  for (std::size_t i = 0; i < parts().parameters.size(); ++i) {
    const Parameter& parameter = parts().parameters[i];
    if (genome[i] != inactive_gene)
      settings.emplace_back(parameter.name, parameter.values[genome[i]]);
  }
  return Config(std::move(settings));
}

bool Space::valid(const Genome& genome) const { return rank(genome).has_value(); }

std::optional<std::uint64_t> Space::rank(const Genome& genome) const {
  const std::size_t width = plan_->levels().size();
  std::uint64_t low = 0;
  std::uint64_t high = count();
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    const Gene* row = rows_->data() + middle * width;
    const auto order =
        std::lexicographical_compare_three_way(row, row + width, genome.begin(), genome.end());
    if (order == 0) return middle;
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return std::nullopt;
}

Genome Space::genome_at(std::uint64_t index) const {
  const std::size_t width = plan_->levels().size();
  const Gene* row = rows_->data() + index * width;
  return Genome(row, row + width);
}

Genome Space::sample_genome(Random& random) const { return genome_at(random.below(count())); }

Genome Space::nearest(const Genome& wish, Random& random) const {
  if (valid(wish)) return wish;
  const std::size_t width = plan_->levels().size();
  const auto equal_genes = [&](const Gene* row) {
    std::size_t equal = 0;
    for (std::size_t i = 0; i < width; ++i)
      equal += row[i] == wish[i] && row[i] != inactive_gene ? 1 : 0;
    return equal;
  };
  std::size_t most = 0;
  std::vector<std::uint64_t> ties;
  for (std::uint64_t i = 0; i < count(); ++i) {
    const std::size_t equal = equal_genes(rows_->data() + i * width);
    if (equal < most) continue;
    if (equal > most) ties.clear();
    most = equal;
    ties.push_back(i);
  }
  return genome_at(ties[random.below(ties.size())]);
}

std::optional<std::uint64_t> Space::index_of(const Config& config) const {
  const auto digits = plan_->digits_of(config);
  return digits ? rank(*digits) : std::nullopt;
}

std::vector<Config> Space::neighbors(const Config& from) const {
  const auto digits = plan_->digits_of(from);
  if (!digits) return {};
  std::vector<Genome> genomes;
  neighbors(*digits, Neighborhood::one_gene, genomes);
  std::vector<Config> result;
  result.reserve(genomes.size());
  for (const Genome& genome : genomes) result.push_back(config(genome));
  return result;
}

Config Space::nearest(const Config& wish, Random& random) const {
  Genome digits;
  for (const Parameter& parameter : parts().parameters) {
    const Value* value = wish.find(parameter.name);
    const auto digit = value == nullptr ? std::nullopt : digit_of(parameter, *value);
    digits.push_back(digit.value_or(inactive_gene));
  }
  return config(nearest(digits, random));
}

Constants Space::derived(const Config& config) const { return plan_->derived(config); }

const Preset* Space::preset(const std::string& name) const {
  const auto found =
      std::ranges::find_if(presets_, [&](const Preset& preset) { return preset.name == name; });
  return found == presets_.end() ? nullptr : &*found;
}

std::optional<std::string> Space::why_invalid(const Config& config) const {
  const auto digits = plan_->check(config, false);
  if (!digits) return digits.error();
  if (listed_ && !valid(*digits)) return "it is not one of the listed configs";
  return std::nullopt;
}

}  // namespace fa_tune
