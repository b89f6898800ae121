#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "engine/expression/residue.hpp"
#include "engine/kernel/template/formulas.hpp"

namespace fa_tune::exports {

// What a call is at sizes that are known when it is made: formulas of these in the places of the
// figures that it has at the shape it was tuned for.
struct AnySize {
  std::vector<std::string> sizes;
  std::map<std::string, expression::Residue> follows =
      {};                                       // members of the shape that rest on them
  std::vector<kernel::KernelFormulas> kernels;  // of its steps that are kernels
  std::map<std::string, std::vector<expression::Residue>> dims;  // of each tensor
  std::map<std::string, expression::Residue> scalars;            // those that rest on sizes
  std::vector<expression::Residue> required;                     // what must hold
  std::int64_t most_shared = 0;                                  // bytes that a block may ask for
  std::string gated;  // "n=17, n=4099": where it was gated beside the tuned shape
};

// CUDA C++ programming guide, "Technical specifications per compute capability".
inline constexpr std::int64_t kMostGrid[] = {2147483647, 65535, 65535};
inline constexpr std::int64_t kMostBlock[] = {1024, 1024, 64};
inline constexpr std::int64_t kMostThreads = 1024;
inline constexpr const char* kAxes = "xyz";

// In the native dialect, for who reads a file: {"sizes": [...], "kernels": [{"grid", "block",
// "cluster", "shared"}], "dims": {name: [...]}, "scalars": {name: ...}, "required": [...],
// "gated"}.
nlohmann::ordered_json any_size_json(const AnySize& any);

// The shape with these sizes in it, and with what follows from them. Throws UserError where that has
// no value.
Constants with_sizes(const AnySize& any, Constants shape, const Constants& sizes);

// The first that does not hold at these sizes, as text; empty where all do.
std::string refusal_at(const AnySize& any, const Constants& sizes);

}  // namespace fa_tune::exports
