#pragma once

#include <vector>

#include "engine/space/expression_dag.hpp"
#include "engine/space/mdd.hpp"
#include "engine/space/space.hpp"

// Private to engine/space.
namespace fa_tune::space {

// Diagrams that together have every parameter once.
struct GroupDiagrams {
  std::vector<Diagram> diagrams;
  // Constraints that the diagrams do not know, because there was no room.
  std::vector<const SpacePlan::Step*> left_out;
};

// A diagram for each group of parameters. A group that is too large as written is tried in a
// narrower order; if that does not help it is built without some of its constraints, those that
// depend on the most parameters first, and no more than needed. Throws UserError for expressions
// that fail, and where the `when` conditions alone are too much.
GroupDiagrams build_diagrams(const Terms& terms, const SpaceLimits& limits);

}  // namespace fa_tune::space
