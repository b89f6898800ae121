#include "engine/tuner/task/variant.hpp"

#include <algorithm>
#include <chrono>

#include "engine/kernel/compile/global_state_check.hpp"
#include "engine/kernel/compile/located_error.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::tuner {

Variant::Variant(const kernel::Template& from, const problem::Problem& problem,
                 std::function<Constants(const Constants& shape)> scope, Config config,
                 kernel::CompilePool& pool, device::Device& device)
    : template_(from),
      problem_(problem),
      scope_(std::move(scope)),
      config_(std::move(config)),
      pool_(pool),
      device_(&device),
      defines_(problem_.defines(problem_.shape())),
      source_(template_.render(config_, defines_)) {}

Variant::~Variant() { unload(); }

void Variant::unload() {
  for (auto& [defines, build] : builds_) {
    if (build.kernel) device_->unload(*build.kernel);
    build.kernel.reset();
  }
}

void Variant::move_to(device::Device& device) {
  unload();
  device_ = &device;
}

Variant::Build& Variant::build(const Defines& defines) {
  const auto [place, inserted] = builds_.try_emplace(defines);
  if (inserted) {
    // Where the template is for other devices the device says so when it is to load it.
    const std::string arch = template_.arch_on(device_->info().arch).value_or(template_.arch());
    place->second.pending =
        pool_.submit({defines == defines_ ? source_ : template_.render(config_, defines), arch,
                      device_->info().accepts, template_.options(config_)});
  }
  return place->second;
}

void Variant::begin() { build(defines_); }

void Variant::begin(const Constants& shape) { build(problem_.defines(shape)); }

bool Variant::ready() const {
  return std::ranges::none_of(builds_, [](const auto& entry) {
    const Build& build = entry.second;
    return !build.outcome && build.pending.valid() &&
           build.pending.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
  });
}

kernel::CompileOutcome& Variant::finished(Build& build) {
  if (!build.outcome) build.outcome = build.pending.get();
  return *build.outcome;
}

const kernel::CompileOutcome& Variant::compiled() { return finished(build(defines_)); }

std::expected<PlannedLaunch, std::string> Variant::plan(const Constants& shape) const {
  return template_.plan(config_, scope_(shape));
}

std::string Variant::code_at(const Constants& shape) {
  const kernel::CompileOutcome& outcome = finished(build(problem_.defines(shape)));
  return outcome ? outcome->code_hash : "does not compile";
}

std::expected<Variant::Build*, std::string> Variant::sound_build(const Constants& shape) {
  if (!template_.arch_on(device_->info().arch))
    return std::unexpected("it is for " + template_.arch() + ", the device is " +
                           device_->info().arch);
  Build& built = build(problem_.defines(shape));
  const kernel::CompileOutcome& outcome = finished(built);
  if (!outcome)
    return std::unexpected("it does not compile: " + kernel::located(outcome.error(), source_));
  if (!may_keep_state_)
    if (const auto kept = kernel::keeps_state(*outcome)) return std::unexpected(*kept);
  return &built;
}

std::expected<Variant::Prepared, std::string> Variant::prepare(const Constants& shape) {
  const auto built = sound_build(shape);
  if (!built) return std::unexpected(built.error());
  auto planned = plan(shape);
  if (!planned) return std::unexpected(planned.error());
  return Prepared{finished(**built)->image, std::move(*planned)};
}

std::expected<gate::BoundKernel, std::string> Variant::bind(const Constants& shape) {
  const auto built = sound_build(shape);
  if (!built) return std::unexpected(built.error());
  auto& kernel = (*built)->kernel;
  if (!kernel) {
    const auto loaded = device_->load(finished(**built)->image);
    if (!loaded)
      return std::unexpected(to_text(loaded.error().kind) + ": " + loaded.error().message);
    kernel = *loaded;
  }
  auto planned = plan(shape);
  if (!planned) return std::unexpected(planned.error());
  return gate::BoundKernel::of(*kernel, std::move(*planned));
}

gate::Binder Variant::binder() {
  return [this](const Constants& shape) { return bind(shape); };
}

}  // namespace fa_tune::tuner
