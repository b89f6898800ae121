#include "engine/space/space.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/space/config_set.hpp"
#include "engine/space/space_parts.hpp"
#include "engine/util/error.hpp"
#include "engine/util/hash.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::space {

Space Space::build(SpaceParts parts, const SpaceLimits& limits) {
  check_parts(parts);
  order_parameters(parts);
  Space space;
  space.hash_ = hash_parts(parts);
  const auto plan = std::make_shared<const SpacePlan>(std::move(parts));
  const SpacePlan::Step* refusal = nullptr;
  (void)plan->start(&refusal);
  if (refusal != nullptr) refuse_all(*refusal->constraint);
  space.configs_ = std::make_shared<const ConfigSet>(plan, limits);
  if (space.configs_->empty()) refuse_empty(*plan);
  const auto add = [&](const Preset& preset, const char* what, std::vector<Preset>& to) {
    const std::string who = prefix(preset.mark) + what + " '" + preset.name + "'";
    if (space.preset(preset.name) != nullptr) throw UserError(who + " is defined twice");
    const auto digits = plan->check(preset.config, true);
    if (!digits) throw UserError(who + " is not valid: " + digits.error());
    to.push_back({preset.name, space.config(*digits), preset.mark});
  };
  for (const Preset& preset : plan->parts().presets) add(preset, "preset", space.presets_);
  for (const Preset& known : plan->parts().known_best) add(known, "known best", space.known_best_);
  return space;
}

const SpaceParts& Space::parts() const { return configs_->plan().parts(); }

std::uint64_t Space::count() const { return configs_ == nullptr ? 0 : configs_->count(); }

bool Space::exact() const { return configs_ == nullptr || configs_->exact(); }

double Space::size() const { return configs_ == nullptr ? 0 : configs_->size(); }

double Space::cartesian() const {
  double product = 1;
  for (const Parameter& parameter : parts().parameters)
    product *= static_cast<double>(parameter.values.size());
  return product;
}

Genome Space::genome(const Config& config) const {
  auto digits = configs_->plan().digits_of(config);
  if (!digits) throw std::logic_error("Space::genome: of another space: " + config.to_json());
  return std::move(*digits);
}

Config Space::config(const Genome& genome) const {
  std::vector<std::pair<std::string, Value>> settings;
  settings.reserve(genome.size());
  for (std::size_t i = 0; i < parts().parameters.size(); ++i) {
    const Parameter& parameter = parts().parameters[i];
    if (genome[i] != kInactiveGene)
      settings.emplace_back(parameter.name, parameter.values[genome[i]]);
  }
  return Config(std::move(settings));
}

bool Space::valid(const Genome& genome) const { return configs_->contains(genome); }

std::optional<std::uint64_t> Space::rank(const Genome& genome) const {
  return configs_->rank(genome);
}

Genome Space::genome_at(std::uint64_t index) const { return configs_->at(index); }

Genome Space::sample_genome(Random& random) const { return configs_->sample(random); }

Genome Space::nearest(const Genome& wish, Random& random) const {
  return valid(wish) ? wish : configs_->nearest(wish, random);
}

std::optional<std::uint64_t> Space::index_of(const Config& config) const {
  const auto digits = configs_->plan().digits_of(config);
  return digits ? rank(*digits) : std::nullopt;
}

std::vector<Config> Space::neighbors(const Config& from) const {
  const auto digits = configs_->plan().digits_of(from);
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
    digits.push_back(digit.value_or(kInactiveGene));
  }
  return config(nearest(digits, random));
}

Constants Space::derived(const Config& config) const { return configs_->plan().derived(config); }

const Preset* Space::preset(const std::string& name) const {
  for (const std::vector<Preset>* list : {&presets_, &known_best_})
    for (const Preset& each : *list)
      if (each.name == name) return &each;
  return nullptr;
}

std::optional<std::string> Space::why_invalid(const Config& config) const {
  const auto digits = configs_->plan().check(config, false);
  if (!digits) return digits.error();
  if (configs_->is_list() && !valid(*digits)) return "it is not one of the listed configs";
  return std::nullopt;
}

Space Space::of_list(SpaceParts parts, std::vector<Genome> members) {
  check_parts(parts);
  if (members.empty()) throw UserError("space '" + parts.name + "' lists no config");
  std::ranges::sort(members);
  const auto rest = std::ranges::unique(members);
  members.erase(rest.begin(), rest.end());

  std::string bytes;
  for (const Genome& member : members)
    bytes.append(reinterpret_cast<const char*>(member.data()), member.size() * sizeof(Gene));
  Space space;
  space.hash_ = sha256(hash_parts(parts) + sha256(bytes));
  space.configs_ = std::make_shared<const ConfigSet>(
      std::make_shared<const SpacePlan>(std::move(parts)), std::move(members));
  return space;
}

}  // namespace fa_tune::space
