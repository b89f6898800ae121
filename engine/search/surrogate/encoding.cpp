#include "engine/search/surrogate/encoding.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace fa_tune::search {
namespace {

// An absent gene lies beside the line of its values: unlike all of them, less so than the ends of
// the line are unlike each other.
constexpr float kAbsentGene = -0.5F;
// Products are among these many genes at most, those with the most values: their number grows with
// the square, and the time of a prediction with it.
constexpr std::size_t kMostGenesInProducts = 10;

std::optional<double> positive_number(const Value& value) {
  double number = 0;
  if (const auto* whole = std::get_if<std::int64_t>(&value))
    number = static_cast<double>(*whole);
  else if (const auto* real = std::get_if<double>(&value))
    number = *real;
  if (!(number > 0)) return std::nullopt;
  return number;
}

std::vector<double> logs_of(const space::Parameter& parameter) {
  std::vector<double> logs;
  for (const Value& value : parameter.values) {
    const auto number = positive_number(value);
    if (!number) return {};
    logs.push_back(std::log(*number));
  }
  return logs;
}

}  // namespace

Encoding::Encoding(const space::Space& space) {
  const space::SpaceParts& parts = space.parts();
  for (std::size_t gene = 0; gene < parts.parameters.size(); ++gene) {
    const space::Parameter& parameter = parts.parameters[gene];
    sizes_.push_back(parameter.values.size());
    logs_.push_back(logs_of(parameter));
    if (parameter.values.size() < 2 && !parameter.when) continue;
    const bool words = std::holds_alternative<std::string>(parameter.values.front());
    dimensions_.push_back(
        {parameter.name, gene, gene, false, !words && parameter.values.size() > 2});
    scales_.push_back({});
  }
  add_products(parts);
}

void Encoding::add_products(const space::SpaceParts& parts) {
  std::vector<std::size_t> genes;
  for (std::size_t gene = 0; gene < sizes_.size(); ++gene)
    if (sizes_[gene] > 2 && !logs_[gene].empty()) genes.push_back(gene);
  std::ranges::stable_sort(genes,
                           [&](std::size_t a, std::size_t b) { return sizes_[a] > sizes_[b]; });
  genes.resize(std::min(genes.size(), kMostGenesInProducts));
  std::ranges::sort(genes);
  for (std::size_t i = 0; i < genes.size(); ++i)
    for (std::size_t j = i + 1; j < genes.size(); ++j) {
      const auto [low_a, high_a] = std::ranges::minmax(logs_[genes[i]]);
      const auto [low_b, high_b] = std::ranges::minmax(logs_[genes[j]]);
      dimensions_.push_back(
          {parts.parameters[genes[i]].name + "*" + parts.parameters[genes[j]].name, genes[i],
           genes[j], true, true});
      scales_.push_back({low_a + low_b, high_a + high_b - low_a - low_b});
    }
}

Point Encoding::encode(const space::Genome& genome) const {
  Point point;
  point.reserve(dimensions_.size());
  for (std::size_t i = 0; i < dimensions_.size(); ++i) {
    const Dimension& dimension = dimensions_[i];
    const space::Gene digit = genome[dimension.gene];
    const space::Gene other = genome[dimension.other];
    if (digit == space::kInactiveGene || other == space::kInactiveGene)
      point.push_back(kAbsentGene);
    else if (dimension.product)
      point.push_back(static_cast<float>(
          (logs_[dimension.gene][digit] + logs_[dimension.other][other] - scales_[i].low) /
          scales_[i].width));
    else
      point.push_back(sizes_[dimension.gene] < 2
                          ? 0.0F
                          : static_cast<float>(digit) /
                                static_cast<float>(sizes_[dimension.gene] - 1));
  }
  return point;
}

}  // namespace fa_tune::search
