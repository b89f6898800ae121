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
  if (suite.given) {
    for (const Constants& shape : suite.shapes)
      cases.push_back({.shape = shape,
                       .inputs = Inputs::normal,
                       .seed = derive_seed(seed, "gate"),
                       .watched = suite.name == "quick"});
    return cases;
  }
  // A suite of fewer shapes than kinds of input goes round again, so that all kinds occur.
  const std::size_t count = std::max(suite.shapes.size(), all_inputs.size());
  const bool watched = suite.name == "quick";
  const bool changed = watched || suite.name == "ragged";
  for (std::size_t i = 0; i < count; ++i)
    cases.push_back({.shape = suite.shapes[i % suite.shapes.size()],
                     .inputs = all_inputs[i % all_inputs.size()],
                     .seed = derive_seed(seed, "gate", i),
                     .watched = watched,
                     .changed_input = changed ? std::optional(i) : std::nullopt});
  return cases;
}

std::vector<GateCase> hidden_cases(const Problem& problem, std::uint64_t seed) {
  std::vector<GateCase> cases;
  Random random(derive_seed(seed, "hidden inputs"));
  for (const Constants& shape : problem.hidden_shapes(seed))
    cases.push_back({.shape = shape,
                     .inputs = all_inputs[random.below(all_inputs.size())],
                     .seed = random.next(),
                     .changed_input = random.below(64)});
  return cases;
}

std::vector<GateCase> trial_cases(const Problem& problem, std::uint64_t seed, TimedShape timed) {
  std::vector<GateCase> cases;
  const auto add = [&cases](const std::vector<GateCase>& more) {
    cases.insert(cases.end(), more.begin(), more.end());
  };
  const auto suites = problem.suites();
  const auto suite_cases = [&](const std::string& name) {
    const auto found = std::ranges::find(suites, name, &Suite::name);
    return found == suites.end() ? std::vector<GateCase>() : gate_cases(*found, seed);
  };
  add(suite_cases("quick"));
  add(hidden_cases(problem, seed));
  if (timed == TimedShape::none) return cases;
  auto mission = suite_cases("mission");
  if (timed == TimedShape::some)
    std::erase_if(mission, [](const GateCase& each) {
      return each.inputs != Inputs::normal && each.inputs != Inputs::large_logits;
    });
  add(mission);
  return cases;
}

}  // namespace fa_tune
