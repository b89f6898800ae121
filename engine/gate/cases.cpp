#include <algorithm>

#include "engine/gate/gate.hpp"
#include "engine/util/random.hpp"

namespace fa_tune::gate {
namespace {

// Shapes that meet every kind of input where that is asked for; more of them take turns.
constexpr std::size_t kMostCrossed = 4;

// What an emulator spends on a kernel at a shape, in operations: on an element of a tensor about as
// much as on 32 of these. One that does 2^23 takes it some tenths of a second.
constexpr double kOperationsAnElement = 32;
constexpr double kSmallWork = 1 << 23;
// Under the sanitizers, and once: it takes some seconds.
constexpr double kSanitizedWork = 1 << 30;

double emulated_work(const problem::Problem& problem, const Constants& shape) {
  double elements = 0;
  for (const problem::Tensor& tensor : problem.outline(shape).tensors)
    elements += static_cast<double>(tensor.elements());
  return problem.flop(shape) + kOperationsAnElement * elements;
}

bool is_small(const problem::Problem& problem) {
  double most = kSmallWork;
  if (const auto quick = problem::find_suite(problem, problem::SuiteName::quick)) {
    double together = 0;
    for (const Constants& shape : quick->shapes) together += emulated_work(problem, shape);
    most = std::max(most, together);
  }
  return emulated_work(problem, problem.shape()) <= most;
}

// All inputs are changed whole before they are changed in a few elements.
constexpr std::size_t kInputsUsually = 3;

}  // namespace

std::vector<GateCase> gate_cases(const problem::Suite& suite, std::uint64_t seed,
                                 Crossing crossing) {
  std::vector<GateCase> cases;
  if (suite.shapes.empty()) return cases;
  const bool sanitized = suite.name == problem::SuiteName::quick;
  if (suite.given) {
    for (const Constants& shape : suite.shapes)
      cases.push_back({.shape = shape,
                       .inputs = problem::Inputs::normal,
                       .seed = derive_seed(seed, "gate"),
                       .sanitized = sanitized});
    return cases;
  }
  const bool changed = sanitized || suite.name == problem::SuiteName::ragged;
  const std::size_t shapes = suite.shapes.size();
  const auto add = [&](std::size_t shape, std::size_t kind, std::size_t round) {
    // Which input is changed goes by the kind: not every kind shows a change of each.
    const std::size_t input = round * suite.kinds.size() + kind;
    cases.push_back({.shape = suite.shapes[shape % shapes],
                     .inputs = suite.kinds[kind],
                     .seed = derive_seed(seed, "gate", cases.size()),
                     .sanitized = sanitized,
                     .changed_input = changed ? std::optional(input) : std::nullopt,
                     .few_elements = cases.size() / kInputsUsually % 2 == 1});
  };
  // Those that tell most come first; the rare ones tell little of a single element.
  std::vector<std::size_t> usual, crossed;
  for (std::size_t kind = 0; kind < suite.kinds.size(); ++kind) {
    const bool all = crossing == Crossing::full || problem::varies_scalars(suite.kinds[kind]);
    (all && shapes <= kMostCrossed ? crossed : usual).push_back(kind);
  }
  // Another deal for each seed: what a shape does not meet in one gate it meets in the next.
  Random random(derive_seed(seed, "kinds"));
  for (std::size_t i = usual.size(); shapes > 1 && i > 1; --i)
    std::swap(usual[i - 1], usual[random.below(i)]);
  // A suite of fewer shapes than kinds of input goes round again, so that all kinds occur.
  for (std::size_t i = 0; !usual.empty() && i < std::max(shapes, usual.size()); ++i)
    add(i, usual[i % usual.size()], i / usual.size());
  const auto normal = std::ranges::find(suite.kinds, problem::Inputs::normal);
  for (std::size_t i = 0; crossing == Crossing::sanitized && i < shapes; ++i) {
    const auto varies = [&](const GateCase& each) {
      return each.shape == suite.shapes[i] && each.inputs != problem::Inputs::distinct_rows &&
             !problem::varies_scalars(each.inputs);
    };
    if (normal != suite.kinds.end() && std::ranges::none_of(cases, varies))
      add(i, static_cast<std::size_t>(normal - suite.kinds.begin()), 0);
  }
  for (const std::size_t kind : crossed)
    for (std::size_t shape = 0; shape < shapes; ++shape) add(shape, kind, shape);
  return cases;
}

std::vector<GateCase> hidden_cases(const problem::Problem& problem, std::uint64_t seed) {
  std::vector<problem::Inputs> kinds = problem::Suite().kinds;
  if (const auto quick = problem::find_suite(problem, problem::SuiteName::quick))
    std::erase_if(kinds, [&](problem::Inputs each) {
      return std::ranges::find(quick->kinds, each) == quick->kinds.end();
    });
  std::vector<GateCase> cases;
  Random random(derive_seed(seed, "hidden inputs"));
  for (const Constants& shape : problem.hidden_shapes(seed))
    cases.push_back({.shape = shape,
                     .inputs = kinds[random.below(kinds.size())],
                     .seed = random.next(),
                     .changed_input = random.below(64),
                     .few_elements = random.below(2) == 1});
  return cases;
}

std::vector<Constants> sanitize_more(const problem::Problem& problem,
                                     std::vector<GateCase>& cases) {
  std::vector<Constants> done, too_large;
  for (const GateCase& each : cases)
    if (each.sanitized) done.push_back(each.shape);
  const auto has = [](const std::vector<Constants>& shapes, const GateCase& each) {
    return std::ranges::find(shapes, each.shape) != shapes.end();
  };
  // Elements that are alike hide a race (Crossing::sanitized).
  for (const bool any_inputs : {false, true}) {
    for (GateCase& each : cases) {
      if (has(done, each) || has(too_large, each)) continue;
      if (emulated_work(problem, each.shape) > kSanitizedWork) {
        too_large.push_back(each.shape);
      } else if (any_inputs || each.inputs == problem::Inputs::normal) {
        each.sanitized = true;
        done.push_back(each.shape);
      }
    }
  }
  return too_large;
}

TimedShape timed_shape_of_trials(const problem::Problem& problem, bool measured) {
  if (measured) return TimedShape::some;
  return is_small(problem) ? TimedShape::one : TimedShape::none;
}

std::vector<GateCase> trial_cases(const problem::Problem& problem, std::uint64_t seed,
                                  TimedShape timed) {
  std::vector<GateCase> cases;
  const auto add = [&cases](const std::vector<GateCase>& more) {
    cases.insert(cases.end(), more.begin(), more.end());
  };
  // So much of the timed shape is what emulators are asked, which watch the others.
  const bool watches = timed == TimedShape::none || timed == TimedShape::one;
  const auto suite_cases = [&](problem::SuiteName name) {
    const auto found = problem::find_suite(problem, name);
    return found ? gate_cases(*found, seed, watches ? Crossing::sanitized : Crossing::dealt)
                 : std::vector<GateCase>();
  };
  add(suite_cases(problem::SuiteName::quick));
  add(hidden_cases(problem, seed));
  if (timed == TimedShape::none) return cases;
  auto mission = suite_cases(problem::SuiteName::mission);
  std::erase_if(mission, [timed](const GateCase& each) {
    const bool sharpest = each.inputs == problem::Inputs::large_logits;
    return timed != TimedShape::all && each.inputs != problem::Inputs::normal &&
           (timed == TimedShape::one || !sharpest);
  });
  add(mission);
  return cases;
}

}  // namespace fa_tune::gate
