#include <fmt/core.h>

#include "engine/gate/case_run.hpp"
#include "engine/gate/gate.hpp"

namespace fa_tune {
namespace {

std::string where_text(const GateCase& gate_case) {
  std::string text;
  for (const auto& [name, value] : gate_case.shape) text += name + "=" + to_text(value) + " ";
  return text + fmt::format("inputs={} seed={}", to_text(gate_case.inputs), gate_case.seed);
}

}  // namespace

std::optional<Refusal> Gate::check(const BoundKernel& kernel, const GateCase& gate_case,
                                   Originals* originals, Verdict& verdict) {
  const std::uint64_t life = device_.life();
  {
    CaseRun run(device_, kernel, truth_.get(gate_case), originals);
    auto refusal = run.check(verdict, gate_case.watched);
    if (!refusal && gate_case.changed_input)
      refusal = run.check_changed(truth_.get_changed(gate_case), verdict);
    // Another kernel may have written over what this one was given and compared with.
    if (!refusal || !run.rests_on_originals() || device_.life() != life || originals->intact())
      return refusal;
  }
  return check(kernel, gate_case, nullptr, verdict);
}

Verdict Gate::check(const Binder& bind, const std::vector<GateCase>& cases) {
  Verdict verdict;
  for (const GateCase& gate_case : cases) {
    ++verdict.cases;
    std::optional<Refusal> refusal;
    if (const auto kernel = bind(gate_case.shape))
      refusal = check(*kernel, gate_case, originals_, verdict);
    else
      refusal = Refusal{.finding = Finding::not_bound, .message = kernel.error()};
    if (!refusal) continue;
    verdict.finding = refusal->finding;
    verdict.message = refusal->message;
    verdict.where = where_text(gate_case);
    break;
  }
  return verdict;
}

}  // namespace fa_tune
