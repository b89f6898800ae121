#pragma once

#include <cstddef>
#include <vector>

#include "engine/space/diagram_build.hpp"

// Private to engine/space.
namespace fa_tune {

// Sorts parameters that share a check or a `when` into groups; every parameter is in one. Groups
// and the parameters in them keep the order of the parts, checks that of `checks`.
std::vector<ParameterGroup> group_parameters(const Terms& terms, const Terms::Checks& checks);

// The constraint of a group that depends on the most parameters, which makes its diagram wide; of
// equal ones the last. nullptr if the group has no constraint.
const SpacePlan::Step* widest_constraint(const Terms& terms, const ParameterGroup& group);

// The diagram of the listed genomes.
Diagram diagram_of_list(std::size_t parameters, std::vector<Genome> genomes);

}  // namespace fa_tune
