#include "engine/space/config_set.hpp"

#include <algorithm>
#include <limits>
#include <ranges>
#include <utility>

#include <fmt/core.h>

#include "engine/space/mdd_build.hpp"
#include "engine/space/parameter_groups.hpp"
#include "engine/util/error.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::space {
namespace {

// How often a constraint that the diagrams do not know may refuse before the search for a config is
// given up; a second or two.
constexpr std::uint64_t kMostDraws = 1'000'000;
// The estimate of a count stops at this many valid draws: a relative error of 1.6%, one sigma.
constexpr std::uint64_t kEnoughHits = 4'096;
constexpr std::uint64_t kEnoughDraws = 65'536;

std::uint64_t multiply_saturating(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

}  // namespace

ConfigSet::ConfigSet(std::shared_ptr<const SpacePlan> plan, const SpaceLimits& limits)
    : plan_(std::move(plan)), diagram_of_(plan_->levels().size(), 0) {
  GroupDiagrams built = build_diagrams(Terms(*plan_), limits);
  for (Diagram& diagram : built.diagrams) add(std::move(diagram));
  left_out_ = std::move(built.left_out);
  settle_count();
  if (!left_out_.empty() && !empty()) estimate_count();
}

ConfigSet::ConfigSet(std::shared_ptr<const SpacePlan> plan, std::vector<Genome> genomes)
    : plan_(std::move(plan)), diagram_of_(plan_->levels().size(), 0), is_list_(true) {
  add(diagram_of_list(plan_->levels().size(), std::move(genomes)));
  settle_count();
}

void ConfigSet::add(Diagram diagram) {
  for (const std::size_t parameter : diagram.parameters())
    diagram_of_[parameter] = diagrams_.size();
  diagrams_.push_back(std::move(diagram));
}

void ConfigSet::settle_count() {
  count_ = 1;
  size_ = 1;
  for (const Diagram& diagram : diagrams_) {
    count_ = diagram.empty() ? 0 : multiply_saturating(count_, diagram.count());
    size_ = diagram.empty() ? 0 : size_ * diagram.size();
    if (diagram.empty()) break;
  }
  exact_ = left_out_.empty() && count_ != UINT64_MAX;
}

void ConfigSet::estimate_count() {
  Random random(derive_seed(0, "count of a space"));
  std::uint64_t hits = 0;
  std::uint64_t draws = 0;
  while (hits < kEnoughHits && draws < (hits > 0 ? kEnoughDraws : kMostDraws)) {
    ++draws;
    hits += passes(draw(random)) ? 1 : 0;
  }
  if (hits == 0) {
    const expression::Expression& expression = *left_out_[0]->compiled.expression;
    throw UserError(prefix(expression.mark()) +
                    fmt::format("space '{}' is too large to be searched for valid configs, and of "
                                "{} that keep its other constraints none keeps {}{}; take values "
                                "away, or give constraints that mention fewer parameters",
                                plan_->parts().name, draws, quote_text(expression.text()),
                                left_out_.size() > 1 ? " and those like it" : ""));
  }
  size_ *= static_cast<double>(hits) / static_cast<double>(draws);
  constexpr double most = 0x1p64;
  count_ =
      size_ < most ? std::max<std::uint64_t>(1, static_cast<std::uint64_t>(size_)) : UINT64_MAX;
}

bool ConfigSet::contains(const Genome& genome) const {
  return std::ranges::all_of(diagrams_,
                             [&](const Diagram& diagram) { return diagram.contains(genome); }) &&
         passes(genome);
}

bool ConfigSet::passes(const Genome& genome) const {
  return left_out_.empty() || plan_->holds(genome, left_out_);
}

std::optional<std::uint64_t> ConfigSet::rank(const Genome& genome) const {
  if (!exact_) return std::nullopt;
  std::uint64_t rank = 0;
  for (const Diagram& diagram : diagrams_) {
    const auto own = diagram.rank(genome);
    if (!own) return std::nullopt;
    rank = rank * diagram.count() + *own;
  }
  return rank;
}

Genome ConfigSet::at(std::uint64_t index) const {
  Genome genome(plan_->levels().size(), kInactiveGene);
  for (const auto& diagram : std::views::reverse(diagrams_)) {
    diagram.at(index % diagram.count(), genome);
    index /= diagram.count();
  }
  return genome;
}

Genome ConfigSet::draw(Random& random) const {
  Genome genome(plan_->levels().size(), kInactiveGene);
  for (const Diagram& diagram : diagrams_) diagram.sample(random, genome);
  return genome;
}

Genome ConfigSet::sample(Random& random) const {
  if (exact_) return at(random.below(count_));
  for (std::uint64_t i = 0; i < kMostDraws; ++i) {
    Genome genome = draw(random);
    if (passes(genome)) return genome;
  }
  throw UserError("space '" + plan_->parts().name +
                  "': hardly any config is valid, and it is too large to search for one");
}

Genome ConfigSet::nearest(const Genome& wish, Random& random) const {
  Genome genome(plan_->levels().size(), kInactiveGene);
  if (left_out_.empty()) {
    for (const Diagram& diagram : diagrams_) diagram.nearest(wish, 0, random, genome);
    return genome;
  }
  // What is nearest by the diagrams may break another constraint: step back gene by gene, the loss
  // dealt out among the groups by chance.
  constexpr int tries = 64;
  constexpr std::size_t most_slack = 6;
  for (std::size_t slack = 0; slack <= most_slack; ++slack)
    for (int i = 0; i < tries; ++i) {
      std::vector<std::size_t> loss(diagrams_.size(), 0);
      for (std::size_t j = 0; j < slack; ++j) ++loss[random.below(loss.size())];
      bool found = true;
      for (std::size_t j = 0; found && j < diagrams_.size(); ++j)
        found = diagrams_[j].nearest(wish, loss[j], random, genome);
      if (found && passes(genome)) return genome;
    }
  return sample(random);
}

}  // namespace fa_tune::space
