#pragma once

#include <cstddef>
#include <vector>

#include "engine/space/diagram_build.hpp"

// Private to engine/space.
namespace fa_tune {

// Sorts parameters that share a check or a `when` into groups; every parameter is in one. Groups
// and the parameters in them keep the order of the parts, checks that of `checks`.
std::vector<ParameterGroup> group_parameters(const Terms& terms, const Terms::Checks& checks);

// Whether some expression of a group might fail for some config: then its order must stay, since it
// decides which checks stand guard before others.
bool may_fail(const Terms& terms, const ParameterGroup& group);

// A group with its parameters in another order (but behind those that their `when` mentions): each
// time the one that leaves the least to be remembered.
ParameterGroup in_narrow_order(const Terms& terms, const ParameterGroup& group);

// The constraint of a group that depends on the most parameters, which makes its diagram wide; of
// equal ones the last. nullptr if the group has no constraint.
const SpacePlan::Step* widest_constraint(const Terms& terms, const ParameterGroup& group);

// The diagram of the listed genomes.
Diagram diagram_of_list(std::size_t parameters, std::vector<Genome> genomes);

}  // namespace fa_tune
