#pragma once

#include <cstddef>
#include <vector>

#include "engine/space/expression_dag.hpp"
#include "engine/space/mdd.hpp"

// Private to engine/space.
namespace fa_tune::space {

// Parameters that share no check and no `when` with others, in the order of the levels, and their
// checks in the order in which they are tried, each with the level at which that happens.
struct ParameterGroup {
  struct PlacedCheck {
    Terms::Check check;
    std::size_t level = 0;
  };
  std::vector<std::size_t> parameters;
  std::vector<PlacedCheck> checks;
};

// Sorts parameters that share a check or a `when` into groups; every parameter is in one. Groups
// and the parameters in them keep the order of the parts, checks that of `checks`.
std::vector<ParameterGroup> group_parameters(const Terms& terms, const Terms::Checks& checks);

// Whether some expression of a group might fail for some config: then its order must stay, since it
// decides which checks stand guard before others.
bool may_fail(const Terms& terms, const ParameterGroup& group);

// The parameters of a group in another order (but behind those that their `when` mentions): each
// time the one that leaves the least to be remembered.
std::vector<std::size_t> narrow_order(const Terms& terms, const ParameterGroup& group);

// A group with its parameters in another order, and its checks as `terms` has them.
ParameterGroup in_order(const Terms& terms, const ParameterGroup& group,
                        std::vector<std::size_t> order);

// How many parameters a check depends on.
std::size_t width_of(const Terms& terms, const Terms::Check& check);

// The diagram of the listed genomes.
Diagram diagram_of_list(std::size_t parameters, std::vector<Genome> genomes);

}  // namespace fa_tune::space
