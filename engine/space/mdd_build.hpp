#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <vector>

#include "engine/space/expression_dag.hpp"
#include "engine/space/mdd.hpp"

// Private to engine/space.
namespace fa_tune {

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

struct TooLarge {};

// The diagram of a group; empty if nothing is valid. Throws UserError for an expression that fails
// for some config that the checks before it let through.
std::expected<Diagram, TooLarge> build_diagram(const Terms& terms, const ParameterGroup& group,
                                               const SpaceLimits& limits);

}  // namespace fa_tune
