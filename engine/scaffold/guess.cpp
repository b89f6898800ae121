#include "engine/scaffold/guess.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "engine/scaffold/arguments.hpp"
#include "engine/scaffold/draft.hpp"
#include "engine/scaffold/launch_geometry.hpp"
#include "engine/scaffold/shapes.hpp"
#include "engine/scaffold/tuning_parameters.hpp"

namespace fa_tune::scaffold {
namespace {

void check_parameters(const Draft& draft) {
  const std::vector<KernelParameter>& parameters = draft.kernel.parameters;
  if (parameters.empty()) draft.refuse("it has no parameters, so nothing it computes is seen");
  for (const KernelParameter& each : parameters)
    if (!each.known)
      draft.refuse(fmt::format(
          "parameter '{}' {}'{}', which init cannot state; a space has buffers of "
          "numbers, vectors and complex numbers, and structs of these by value",
          each.name, each.type.ends_with("**") ? "is a pointer to pointers, " : "has the type ",
          each.type));
  if (std::ranges::none_of(parameters, &KernelParameter::pointer))
    draft.refuse("it takes no pointer, so nothing it computes is seen");
}

}  // namespace

Guess guess_space(const SourceText& source, const KernelText& kernel) {
  Draft draft(source, kernel);
  check_parameters(draft);
  draft.use = walk_kernel(source, kernel, draft.exact, {}, draft.algebra);
  choose_blocks(draft);
  choose_extents(draft);
  // How far indices reach is told by how many threads and blocks there are.
  draft.use = walk_kernel(source, kernel, draft.exact, draft.launch_values, draft.algebra);
  choose_shapes(draft);
  choose_sizes(draft);
  write_arguments(draft);
  write_parameters(draft);
  write_launches(draft);
  write_constraints(draft);
  write_names(draft);
  return std::move(draft.made);
}

}  // namespace fa_tune::scaffold
