#include <algorithm>
#include <array>

#include "engine/base/random.hpp"
#include "engine/gate/gate.hpp"

namespace fa_tune {
namespace {

constexpr std::array all_inputs = {Inputs::normal,  Inputs::tripled,      Inputs::small,
                                   Inputs::negated, Inputs::large_logits, Inputs::distinct_rows};

}  // namespace

std::vector<GateCase> gate_cases(const Suite& suite, std::uint64_t seed) {
  std::vector<GateCase> cases;
  if (suite.shapes.empty()) return cases;
  // A suite of fewer shapes than kinds of input goes round again, so that all kinds occur.
  const std::size_t count = std::max(suite.shapes.size(), all_inputs.size());
  for (std::size_t i = 0; i < count; ++i)
    cases.push_back({.shape = suite.shapes[i % suite.shapes.size()],
                     .inputs = all_inputs[i % all_inputs.size()],
                     .seed = derive_seed(seed, "gate", i),
                     .watched = suite.name == "quick"});
  return cases;
}

}  // namespace fa_tune
