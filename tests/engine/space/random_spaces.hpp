#pragma once

#include <string>
#include <vector>

#include "engine/space/space.hpp"
#include "engine/util/random.hpp"

// Random small spaces, and an enumeration of their configs that knows nothing of levels, slots or
// digits: every assignment of values and absences, kept if it agrees with the words of space.hpp.
namespace fa_tune::test {

// Of checked parts that outlive it.
class Enumeration {
 public:
  explicit Enumeration(const space::SpaceParts& parts) : parts_(parts) { assign(0); }

  const std::vector<Config>& valid() const { return valid_; }
  Constants derived(const Config& chosen) const;

 private:
  const Value* find(const std::string& name, const Config& chosen, const Constants& derived) const;
  bool all_exist(const expression::Expression& expression, const Config& chosen,
                 const Constants& derived) const;
  void assign(std::size_t at);
  bool is_valid(const Config& chosen) const;

  const space::SpaceParts& parts_;
  std::vector<std::pair<std::string, Value>> current_;
  std::vector<Config> valid_;
};

// Spaces of up to six parameters; `when` may mention later parameters, as long as there is no
// circle: it mentions only names before it in a shuffled order. Some have no valid config.
space::SpaceParts random_parts(Random& random);

// An expression over names of integers and, if `boolean`, of truths: every operation, right and
// wrong types, divisions by zero and sums beyond 64 bits among them.
std::string random_expression(Random& random, const std::vector<std::string>& names, bool boolean,
                              int depth);

// Spaces with such expressions as constraints, derived values and `when`: for many of them some
// expression fails for some config.
space::SpaceParts random_faulty_parts(Random& random);

// The genomes that `reference` finds valid, in lexicographic order. Of the space of its parts.
std::vector<space::Genome> genomes_of(const Enumeration& reference, const space::Space& space);

}  // namespace fa_tune::test
