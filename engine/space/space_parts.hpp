#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/space/space.hpp"

// Private to engine/space: what is checked and settled about the parts before they are compiled.
namespace fa_tune::space {

// The parameter that says which template a config is for.
inline constexpr const char* kTemplateParameter = "template";

// Whether what is for one template and what is for another may meet in one config.
inline bool may_meet(const std::string& only_for, const std::string& other) {
  return only_for.empty() || other.empty() || only_for == other;
}

// Throws UserError: a name that is taken, reserved or none; values that are missing, mixed,
// repeated or too many; an expression that mentions an unknown name; `only_for` without templates.
void check_parts(const SpaceParts& parts);

// Positions in parts.derived such that each stands behind all it mentions. Throws UserError for a
// circle.
std::vector<std::size_t> derived_order(const SpaceParts& parts);

// Moves every parameter behind those that its `when` depends on, directly or through derived
// values, and keeps the order otherwise. Throws UserError for a circle.
void order_parameters(SpaceParts& parts);

// For each parameter those that share a constraint, a derived value or a `when` with it (directly
// or through derived values), by position, ascending, without itself.
std::vector<std::vector<std::size_t>> linked_parameters(const SpaceParts& parts);

// SHA-256 over all that decides which configs are valid and what is derived from them.
std::string hash_parts(const SpaceParts& parts);

}  // namespace fa_tune::space
