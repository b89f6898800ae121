#include "engine/tuner/task/packaging.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "engine/gate/arguments.hpp"
#include "engine/kernel/compile/global_state_check.hpp"
#include "engine/kernel/compile/located_error.hpp"
#include "engine/report/export.hpp"
#include "engine/report/text_format.hpp"
#include "engine/tuner/task/exported_kernel.hpp"
#include "engine/tuner/task/make_problem.hpp"
#include "engine/util/error.hpp"
#include "engine/util/hash.hpp"
#include "engine/util/log.hpp"

namespace fa_tune::tuner {
namespace {

std::string origin_of(const report::ExportFacts& facts, bool as_timed) {
  std::string text = fmt::format(
      "{}; trial {} of run {}, space {}",  // what it is, and where it comes from
      report::settings_text(facts.config.to_json()), facts.trial, facts.run, facts.space);
  if (as_timed && facts.time)
    text += fmt::format(", {} us {} on {}", report::time_text(facts.time->value), facts.time_kind,
                        facts.device_name);
  if (as_timed)
    text += fmt::format(", {} gate cases, worst error {:.3g} of what is allowed", facts.gate_cases,
                        facts.worst_ratio);
  return text + ", " + facts.compiler;
}

// Templates may share a source, and so its code, and start different kernels of it.
std::vector<std::string> entries_of(const KernelImage& image) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < image.entries(); ++i) names.push_back(image.entry(i).kernel);
  return names;
}

}  // namespace

struct Packager::Winner {
  const kernel::Template& from;
  const Config& config;
  const problem::Problem& problem;
  const device::DeviceProfile& target;
  const Constants& shape;
  kernel::Source source;
  std::string device_arch;
  std::string device;
  std::string origin;
  std::string named;  // for messages: "trial 79"
  std::optional<exports::AnySize> any_size = {};
  std::optional<std::size_t> choice = {};
};

Packager::Packager(kernel::Compiler& compiler, BinaryKind kind, std::filesystem::path root,
                   std::string version)
    : compiler_(compiler), kind_(kind), root_(std::move(root)) {
  package_.version = std::move(version);
}

std::size_t Packager::kernel_of(const Winner& winner, const std::string& arch) {
  const auto compiled =
      compiler_.compile({winner.source, arch, kind_, winner.from.options(winner.config)});
  if (!compiled)
    throw UserError(winner.named +
                    " does not compile: " + kernel::located(compiled.error(), winner.source));
  if (const auto kept = kernel::keeps_state(*compiled))
    throw UserError(winner.named + ": " + *kept);
  const auto known =
      std::ranges::find_if(package_.kernels, [&](const exports::PackagedKernel& each) {
        return each.image.bytes == compiled->image.bytes && each.image.arch == arch &&
               entries_of(each.image) == entries_of(compiled->image);
      });
  if (known != package_.kernels.end())
    return static_cast<std::size_t>(known - package_.kernels.begin());
  package_.kernels.push_back({compiled->image, winner.source.hash});
  return package_.kernels.size() - 1;
}

void Packager::add(const Winner& winner) {
  const auto arch = winner.from.arch_on(winner.device_arch);
  if (!arch)
    throw UserError(fmt::format("{} is for {}, not for {}", winner.named, winner.from.arch(),
                                winner.device_arch));
  if (!package_.problem.empty() && package_.problem != winner.problem.kind())
    throw UserError(fmt::format("{} solves the problem {}, those before it {}", winner.named,
                                winner.problem.kind(), package_.problem));
  package_.problem = winner.problem.kind();
  const Constants shape = winner.problem.complete(winner.shape);
  const Constants scope = scope_of(winner.target, shape);
  problem::Instance outline = winner.problem.outline(winner.shape);
  PlannedLaunch planned = winner.from.require_plan(winner.config, scope);
  std::vector<problem::Tensor> workspaces = gate::workspaces_of(gate::BoundKernel::of({}, planned));
  outline.tensors.insert(outline.tensors.end(), std::make_move_iterator(workspaces.begin()),
                         std::make_move_iterator(workspaces.end()));
  for (PlannedScalar& scalar : planned.scalars)
    outline.scalars.push_back({.name = std::move(scalar.name),
                               .bytes = std::move(scalar.bytes),
                               .type = scalar.type,
                               .own = true});
  exports::PackagedCall call{.kernel = kernel_of(winner, *arch),
                             .shape = shape,
                             .given = winner.shape,
                             .launch = planned.config,
                             .arguments = std::move(planned.arguments),
                             .maps = std::move(planned.maps),
                             .tensors = std::move(outline.tensors),
                             .scalars = std::move(outline.scalars),
                             .described = winner.problem.describe(winner.shape),
                             .device = winner.device,
                             .origin = winner.origin,
                             .steps = std::move(planned.steps),
                             .any_size = winner.any_size,
                             .choice = winner.choice};
  const exports::Capability own = exports::capability_of(*arch);
  for (const exports::PackagedCall& other : package_.calls) {
    const exports::Capability its =
        exports::capability_of(package_.kernels[other.kernel].image.arch);
    if (other.shape == call.shape && other.choice == call.choice && other.device == call.device &&
        its.major == own.major && its.minor == own.minor)
      throw UserError(fmt::format("{} is the second kernel for {} on {}: name one for each",
                                  winner.named, winner.problem.describe(winner.shape),
                                  call.device.empty() ? *arch : call.device));
  }
  package_.calls.push_back(std::move(call));
}

// Another compiler may make other code of the same source: then nobody has gated it.
void Packager::require_gated_code(const report::ExportFacts& facts, const kernel::Template& from,
                                  const kernel::Source& gated) {
  const BinaryKind kind = facts.time_kind == "predicted" ? BinaryKind::ptx : BinaryKind::cubin;
  const auto compiled = compiler_.compile(
      {gated, from.arch_on(facts.arch).value_or(from.arch()), kind, from.options(facts.config)});
  if (!compiled)
    throw UserError(fmt::format("trial {} does not compile by {}: {}", facts.trial,
                                compiler_.version(), kernel::located(compiled.error(), gated)));
  if (compiled->code_hash != facts.code_hash)
    throw UserError(fmt::format(
        "trial {}: {} makes other code of it than {}, by which it was gated and timed; export it "
        "with --as cu, gate that file with fa-tune verify, and name the file here in the trial's "
        "place",
        facts.trial, compiler_.version(), facts.compiler));
}

void Packager::add_trial(const db::Store& store, std::int64_t trial,
                         const std::optional<Constants>& shape,
                         std::optional<exports::AnySize> any_size,
                         std::optional<std::size_t> choice) {
  const report::ExportFacts facts = report::export_facts(store, trial);
  const std::string named = fmt::format("trial {}", trial);
  if (facts.verdict != to_text(Outcome::passed))
    throw UserError(fmt::format("{} did not pass ({}): it is not exported", named, facts.verdict));
  const auto run = store.run(facts.run);
  const TuningTask task = open_stored_task(*run, root_);
  const kernel::Template& from = task.template_of(facts.config);
  const problem::Problem& problem = *task.problem;
  const kernel::Source gated = from.render(facts.config, problem.defines(problem.shape()));
  if (gated.text != facts.body)
    throw UserError(fmt::format(
        "{}: its template has changed since it was gated; export it with --as cu, gate that file "
        "with fa-tune verify, and name the file here in the trial's place",
        named));
  require_gated_code(facts, from, gated);
  const Constants& at = shape ? *shape : problem.shape();
  add({.from = from,
       .config = facts.config,
       .problem = problem,
       .target = task.target,
       .shape = at,
       .source = from.render(facts.config, problem.defines(at)),
       .device_arch = facts.arch,
       .device = std::string(device::modelled_gpu(facts.device_name)),
       .origin = origin_of(facts, problem.complete(at) == problem.complete(problem.shape())),
       .named = named,
       .any_size = std::move(any_size),
       .choice = choice});
}

void Packager::add_file(const std::filesystem::path& file) {
  const report::Exported exported = report::read_exported(file);
  if (exported.edited)
    log_warning("{}: the kernel's text was edited since it was exported; it is taken as it stands",
                file.string());
  const auto problem = make_problem(exported.problem, exported.settings, file.string() + ": ");
  const device::DeviceProfile target = device::load_profile(exported.target, root_);
  const kernel::Template from = kernel::Template::parse(
      exported.template_name, exported.manifest_text, exported.cuda_text, "exported manifest");
  // The file says for what it was compiled ("sm_90a"), the template for what it may be.
  const std::string arch = exported.arch.substr(0, exported.arch.find_last_of("0123456789") + 1);
  add({.from = from,
       .config = exported.config,
       .problem = *problem,
       .target = target,
       .shape = exported.shape,
       .source = source_of(exported, from),
       .device_arch = arch,
       .device = "",
       .origin = fmt::format("{}; from {}", report::settings_text(exported.config.to_json()),
                             file.filename().string()),
       .named = file.string()});
}

const exports::Package& Packager::package() const {
  if (package_.calls.empty()) throw UserError("no kernel was named to be exported");
  return package_;
}

}  // namespace fa_tune::tuner
