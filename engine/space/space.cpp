#include "engine/space/space.hpp"

#include <algorithm>
#include <cstring>

#include "engine/space/space_walk.hpp"

namespace fa_tune {
namespace {

// Walks the configs that share with `row` all genes but one, and but those that do not exist there.
class Neighborhood {
 public:
  Neighborhood(const SpacePlan::Digits& row, std::vector<SpacePlan::Digits>& neighbors)
      : row_(row), neighbors_(neighbors) {}

  void change(std::size_t gene) { gene_ = gene; }

  bool tries(std::size_t level, std::uint8_t digit) const {
    if (level == gene_) return digit != row_[level];
    return row_[level] == inactive || digit == row_[level];
  }
  void refused(std::size_t, const SpacePlan::Step&) const {}
  void found(const SpacePlan::Digits& digits) { neighbors_.push_back(digits); }

 private:
  const SpacePlan::Digits& row_;
  std::vector<SpacePlan::Digits>& neighbors_;
  std::size_t gene_ = 0;
};

}  // namespace

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

Config Space::config_of(const std::uint8_t* row) const {
  std::vector<std::pair<std::string, Value>> settings;
  for (std::size_t i = 0; i < parts().parameters.size(); ++i) {
    const Parameter& parameter = parts().parameters[i];
    if (row[i] != inactive) settings.emplace_back(parameter.name, parameter.values[row[i]]);
  }
  return Config(std::move(settings));
}

Config Space::at(std::uint64_t index) const {
  return config_of(rows_->data() + index * plan_->levels().size());
}

std::optional<std::uint64_t> Space::index_of(const Config& config) const {
  const auto digits = plan_->digits_of(config);
  if (!digits) return std::nullopt;
  const std::size_t width = digits->size();
  std::uint64_t low = 0;
  std::uint64_t high = count();
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    const int order = std::memcmp(rows_->data() + middle * width, digits->data(), width);
    if (order == 0) return middle;
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return std::nullopt;
}

Config Space::sample(Random& random) const { return at(random.below(count())); }

std::vector<Config> Space::neighbors(const Config& config) const {
  std::vector<Config> result;
  if (!index_of(config)) return result;
  const auto row = plan_->digits_of(config);
  std::vector<SpacePlan::Digits> rows;
  Neighborhood neighborhood(*row, rows);
  for (std::size_t gene = 0; gene < row->size(); ++gene) {
    if ((*row)[gene] == inactive) continue;
    neighborhood.change(gene);
    SpaceWalk(*plan_, neighborhood).run();
  }
  for (const SpacePlan::Digits& digits : rows) result.push_back(config_of(digits.data()));
  return result;
}

Config Space::nearest(const Config& wish, Random& random) const {
  if (const auto index = index_of(wish)) return at(*index);
  // Genes that the wish gives a value of this space: column and digit.
  std::vector<std::pair<std::size_t, std::uint8_t>> wanted;
  for (std::size_t i = 0; i < parts().parameters.size(); ++i) {
    const Parameter& parameter = parts().parameters[i];
    const Value* value = wish.find(parameter.name);
    if (value == nullptr) continue;
    if (const auto digit = digit_of(parameter, *value)) wanted.emplace_back(i, *digit);
  }
  const std::size_t width = plan_->levels().size();
  const auto equal_genes = [&](const std::uint8_t* row) {
    std::size_t equal = 0;
    for (const auto& [column, digit] : wanted) equal += row[column] == digit ? 1 : 0;
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
  return at(ties[random.below(ties.size())]);
}

Constants Space::derived(const Config& config) const { return plan_->derived(config); }

const Preset* Space::preset(const std::string& name) const {
  const auto found =
      std::ranges::find_if(presets_, [&](const Preset& preset) { return preset.name == name; });
  return found == presets_.end() ? nullptr : &*found;
}

std::optional<std::string> Space::why_invalid(const Config& config) const {
  const auto digits = plan_->check(config, false);
  if (digits) return std::nullopt;
  return digits.error();
}

}  // namespace fa_tune
