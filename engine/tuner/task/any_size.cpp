#include "engine/tuner/task/any_size.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/tuner/task/tuning_task.hpp"
#include "engine/util/error.hpp"
#include "engine/util/random.hpp"

namespace fa_tune::tuner {
namespace {

constexpr int kGatedShapes = 6;
constexpr int kDraws = 2000;
// Of all tensors together, so that an emulator and the plain kernel are done in seconds.
constexpr std::int64_t kMostElements = 1 << 17;

std::int64_t elements(const problem::Problem& problem, const Constants& shape) {
  std::int64_t all = 0;
  for (const problem::Tensor& tensor : problem.outline(shape).tensors) all += tensor.elements();
  return all;
}

// Sizes between 1 and those of the largest shape that the problem names: small ones as often as
// large ones, or all sizes alike; half of them multiples of a power of two,
// which conditions often ask for.
Constants drawn(const problem::Problem& problem, const exports::AnySize& any, Random& random) {
  const bool alike = random.below(2) == 0;
  Constants sizes;
  for (const std::string& name : any.sizes) {
    std::int64_t most = 1;
    for (const problem::Suite& suite : problem.suites())
      for (const Constants& each : suite.shapes) most = std::max(most, integer(each, name));
    most = std::min(most, kMostElements);
    const double power = random.uniform() * std::log2(static_cast<double>(most));
    auto size = alike
                    ? 1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most)))
                    : std::max<std::int64_t>(1, std::llround(std::exp2(power)));
    const std::int64_t step = std::int64_t{1} << random.below(8);
    if (random.below(2) == 0 && size > step) size -= size % step;
    sizes[name] = size;
  }
  return exports::with_sizes(any, problem.shape(), sizes);
}

// Whether the problem and the conditions allow them, and an emulator is done with them soon.
bool allowed(const problem::Problem& problem, const exports::AnySize& any, const Constants& shape) {
  if (!exports::refusal_at(any, shape).empty()) return false;
  try {
    return elements(problem, shape) <= kMostElements;
  } catch (const UserError&) {
    return false;
  }
}

// A caller's program computes with integers, and knows no small floats.
void require_types(const exports::AnySize& any, const auto& scalars) {
  for (const auto& scalar : scalars)
    if (any.scalars.contains(scalar.name) && size_of(scalar.type) < 4 && !is_integer(scalar.type))
      throw UserError(
          fmt::format("'{}' is of {} and rests on sizes: a kernel is exported for any "
                      "sizes where such scalars are integers, f32 or f64",
                      scalar.name, type_name(scalar.type)));
}

// The copy engine takes rows at multiples of 16 bytes: so they lie at any sizes where the innermost
// dimension has such a length and rests on none.
void require_maps(const exports::AnySize& any, const PlannedKernel& kernel,
                  const std::vector<problem::Tensor>& tensors) {
  for (const MappedTensor& map : kernel.maps) {
    const auto tensor = std::ranges::find(tensors, map.tensor, &problem::Tensor::name);
    const auto dims = any.dims.find(map.tensor);
    if (tensor == tensors.end() || dims == any.dims.end() ||
        dims->second.back().value() == nullptr ||
        tensor->dims.back() * static_cast<std::int64_t>(size_of(tensor->type)) % 16 != 0)
      throw UserError(fmt::format(
          "maps: '{}' is of one size: the innermost dimension of '{}' rests on sizes, or is no "
          "multiple of 16 bytes",
          map.argument, map.tensor));
  }
}

}  // namespace

exports::AnySize any_size(const kernel::Template& from, const problem::Problem& problem,
                          const device::DeviceProfile& target, const space::SpaceFile& space,
                          const Config& config) {
  problem::SizeFormulas sizes = problem.size_formulas();
  exports::AnySize any;
  any.sizes = sizes.sizes;
  any.dims = std::move(sizes.dims);
  any.scalars = std::move(sizes.scalars);
  any.follows = std::move(sizes.follows);
  std::vector<std::string> later;
  for (const std::string& name : any.sizes) later.push_back("problem." + name);
  Constants fixed = problem.complete(problem.shape());
  std::erase_if(fixed, [&](const auto& each) {
    return std::ranges::find(any.sizes, each.first) != any.sizes.end();
  });
  const Constants constants = scope_of(target, fixed);
  kernel::DerivedResidues known(config, constants, later);
  for (const auto& [name, value] : any.follows) known.set("problem." + name, value);
  known.add(space.derived, from.name());
  kernel::LaunchFormulas launch = from.formulas(config, known);
  any.kernels = std::move(launch.kernels);
  for (auto& [name, dims] : launch.workspaces) any.dims.emplace(name, std::move(dims));
  for (auto& [name, value] : launch.scalars)
    if (value.value() == nullptr) any.scalars.emplace(name, std::move(value));
  const Constants tuned = scope_of(target, problem.complete(problem.shape()));
  const problem::Instance outline = problem.outline(problem.shape());
  const PlannedLaunch planned = from.require_plan(config, tuned);
  require_types(any, outline.scalars);
  require_types(any, planned.scalars);
  for (const PlannedKernel& kernel : planned.kernels()) require_maps(any, kernel, outline.tensors);
  any.required = std::move(launch.required);
  known.add(from.derived(), from.name());
  for (expression::Residue& each : known.required(space.constraints, from.name()))
    any.required.push_back(std::move(each));
  any.most_shared = integer(constants, "device.shared_per_block");
  return any;
}

void gate_any_size(const problem::Problem& problem, const gate::Binder& bind,
                   device::Device& device, std::uint64_t seed, exports::AnySize& any) {
  Random random(derive_seed(seed, "sizes that are gated for an export"));
  std::vector<Constants> shapes;
  for (int i = 0; i < kDraws && std::ssize(shapes) < kGatedShapes; ++i) {
    Constants shape = drawn(problem, any, random);
    if (shape != problem.shape() && std::ranges::find(shapes, shape) == shapes.end() &&
        allowed(problem, any, shape))
      shapes.push_back(std::move(shape));
  }
  if (shapes.empty())
    throw UserError("no other sizes were found that the constraints allow, to gate it at");
  gate::TruthCache truth(problem);
  problem::Suite suite{.name = problem::SuiteName::ragged, .shapes = shapes};
  if (const auto quick = problem::find_suite(problem, problem::SuiteName::quick))
    suite.kinds = quick->kinds;
  std::vector<gate::GateCase> cases = gate::gate_cases(suite, seed);
  // What is read beyond a buffer's end shows in no result.
  for (gate::GateCase& each : cases) each.sanitized = true;
  const gate::Verdict verdict = gate::Gate(device, truth).check(bind, cases);
  if (!verdict.passed())
    throw UserError(
        fmt::format("it does not pass at other sizes, so it is exported for the tuned "
                    "ones alone: {}, {}",
                    verdict.finding, verdict.rejection().message));
  std::vector<std::string> described;
  for (const Constants& shape : shapes) described.push_back(problem.describe(shape));
  any.gated = fmt::format("{}", fmt::join(described, ", "));
}

}  // namespace fa_tune::tuner
