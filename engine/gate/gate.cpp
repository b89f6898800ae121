#include "engine/gate/gate.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/core.h>

#include "engine/gate/case_run.hpp"
#include "engine/gate/compare.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::gate {
namespace {

constexpr const char* kNothingComesOfIt =
    "; nothing that the kernel decides or stores depends on it";

std::string where_text(const GateCase& gate_case, TruthCache& truth) {
  std::string text;
  for (const auto& [name, value] : gate_case.shape) text += name + "=" + to_text(value) + " ";
  // Of these kinds scalars are others than the space says.
  if (problem::varies_scalars(gate_case.inputs))
    for (const problem::Scalar& scalar : truth.get(gate_case)->instance.scalars)
      for (const auto& [part, type, offset] : parts_of(scalar))
        if (!is_integer(type))
          text += fmt::format("{}{}{}={:.9g} ", scalar.name, part.empty() ? "" : ".", part,
                              get_number(type, scalar.bytes.data() + offset));
  return text + fmt::format("inputs={} seed={}", to_text(gate_case.inputs), gate_case.seed);
}

// A generator reads nothing that could be changed.
bool has_inputs(const problem::Instance& instance) {
  return std::ranges::any_of(instance.tensors, [](const problem::Tensor& tensor) {
    return problem::is_given(tensor.role);
  });
}

}  // namespace

Rejection rejection_of(const device::Fault& fault) {
  if (fault.kind == device::FaultKind::read_only)
    return {.finding = Finding::kInputChanged, .message = fault.message};
  const bool never_ran = fault.kind == device::FaultKind::load_failed ||
                         fault.kind == device::FaultKind::unknown_instruction ||
                         fault.kind == device::FaultKind::resources;
  return {.finding = never_ran ? Finding::kNotBound : Finding::kFault,
          .message = to_text(fault.kind) + ": " + fault.message};
}

std::optional<Rejection> Gate::check(const BoundKernel& kernel, const GateCase& gate_case,
                                     DeviceInputCache* input_cache, Verdict& verdict) {
  const std::uint64_t life = device_.life();
  try {
    const auto truth = truth_.get(gate_case);
    CaseRun run(device_, kernel, truth, input_cache);
    auto rejection = run.check(verdict, gate_case.sanitized);
    if (!rejection && gate_case.changed_input && has_inputs(truth->instance))
      if (const auto changed = truth_.get_changed(gate_case); changed->lacks.empty())
        rejection = run.check_changed(changed, verdict);
    // Another kernel may have written over what this one was given and compared with.
    if (!rejection || !run.rests_on_originals() || device_.life() != life || input_cache->intact())
      return rejection;
  } catch (const OutOfMemory& error) {
    if (input_cache == nullptr && !kernel.workspaces.empty())
      return Rejection{.finding = Finding::kNotBound, .message = error.what()};
    if (input_cache == nullptr) throw;
    input_cache->make_room();
  }
  return check(kernel, gate_case, nullptr, verdict);
}

Verdict Gate::check(const Binder& bind, const std::vector<GateCase>& cases) {
  Verdict verdict;
  for (const GateCase& gate_case : cases) {
    if (problem::may_lack_truth(gate_case.inputs) && !truth_.get(gate_case)->lacks.empty())
      continue;
    ++verdict.cases;
    std::optional<Rejection> rejection;
    if (const auto kernel = bind(gate_case.shape))
      rejection = check(*kernel, gate_case, input_cache_, verdict);
    else
      rejection = Rejection{.finding = Finding::kNotBound, .message = kernel.error()};
    if (!rejection) continue;
    verdict.finding = rejection->finding;
    verdict.message = rejection->message;
    verdict.where = where_text(gate_case, truth_);
    break;
  }
  // One says enough: a kernel does mostly the same thing everywhere.
  if (const auto notes = device_.take_notes(); verdict.passed() && !notes.empty())
    verdict.note = notes.front() + kNothingComesOfIt;
  if (verdict.cases == 0) throw std::logic_error("a kernel was to be gated on no case");
  return verdict;
}

}  // namespace fa_tune::gate
