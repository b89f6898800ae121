#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/space/mdd.hpp"
#include "engine/space/space_plan.hpp"
#include "engine/util/random.hpp"

// Private to engine/space.
namespace fa_tune::space {

// The valid genomes of a plan, as the product of a diagram for each group of parameters that have
// to do with each other. Where a group is too large even so, constraints are left out of the
// diagrams until it is not, widest first, and asked afterwards: then membership is still exact, and
// a uniform sample of what the diagrams hold, drawn until the others hold too, is a uniform
// sample of the valid ones; the count is an estimate, and there are no ranks. Immutable.
class ConfigSet {
 public:
  // Throws UserError: an expression that fails for some config, and a space so large and so
  // constrained that no config of it is found. May be empty.
  ConfigSet(std::shared_ptr<const SpacePlan> plan, const SpaceLimits& limits);
  // The genomes listed, in any order, whatever the plan says.
  ConfigSet(std::shared_ptr<const SpacePlan> plan, std::vector<Genome> genomes);

  const SpacePlan& plan() const { return *plan_; }
  bool empty() const { return size_ == 0; }
  // Whether count() is the number of genomes, so that each has a rank.
  bool exact() const { return exact_; }
  std::uint64_t count() const { return count_; }
  double size() const { return size_; }
  // The space of a list: all parameters have to do with each other.
  bool is_list() const { return is_list_; }
  const std::vector<Diagram>& diagrams() const { return diagrams_; }
  const Diagram& diagram_of(std::size_t parameter) const {
    return diagrams_[diagram_of_[parameter]];
  }

  bool contains(const Genome& genome) const;
  // Whether the constraints that the diagrams do not know hold.
  bool passes(const Genome& genome) const;
  std::optional<std::uint64_t> rank(const Genome& genome) const;
  Genome at(std::uint64_t index) const;
  Genome sample(Random& random) const;
  Genome nearest(const Genome& wish, Random& random) const;

 private:
  void add(Diagram diagram);
  void settle_count();
  void estimate_count();
  Genome draw(Random& random) const;

  std::shared_ptr<const SpacePlan> plan_;
  std::vector<Diagram> diagrams_;
  std::vector<std::size_t> diagram_of_;  // a parameter
  std::vector<const SpacePlan::Step*> left_out_;
  bool is_list_ = false;
  bool exact_ = false;
  std::uint64_t count_ = 0;
  double size_ = 0;
};

}  // namespace fa_tune::space
