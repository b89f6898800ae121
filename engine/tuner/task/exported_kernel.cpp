#include "engine/tuner/task/exported_kernel.hpp"

#include "engine/kernel/compile/global_state_check.hpp"
#include "engine/kernel/compile/located_error.hpp"
#include "engine/tuner/task/tuning_task.hpp"
#include "engine/util/hash.hpp"

namespace fa_tune::tuner {

kernel::Source source_of(const report::Exported& exported, const kernel::Template& from) {
  kernel::Origin origin;
  origin.lines.add(1, exported.file, exported.body_line);
  kernel::Source source{exported.cuda_text, exported.kernel, sha256(exported.cuda_text),
                        std::make_shared<const kernel::Origin>(std::move(origin))};
  const std::vector<std::string> kernels = from.kernels(exported.config);
  source.more.assign(kernels.begin() + 1, kernels.end());
  return source;
}

ExportedKernel::ExportedKernel(const report::Exported& exported, const problem::Problem& problem,
                               const device::DeviceProfile& target, kernel::Compiler& compiler,
                               device::Device& device)
    : exported_(exported),
      problem_(problem),
      target_(target),
      compiler_(compiler),
      device_(device),
      template_(kernel::Template::parse(exported.template_name, exported.manifest_text,
                                        exported.cuda_text, "exported manifest")) {}

ExportedKernel::~ExportedKernel() {
  if (kernel_) device_.unload(*kernel_);
}

bool ExportedKernel::fits(const Constants& shape) const {
  return problem_.defines(shape) == problem_.defines(exported_.shape);
}

std::expected<gate::BoundKernel, std::string> ExportedKernel::bind(const Constants& shape) {
  if (!fits(shape))
    return std::unexpected("the exported file is compiled for another kind of shape");
  if (!kernel_) {
    const auto arch = template_.arch_on(device_.info().arch);
    if (!arch)
      return std::unexpected("it is for " + template_.arch() + ", the device is " +
                             device_.info().arch);
    const kernel::Source source = source_of(exported_, template_);
    const auto compiled = compiler_.compile(
        {source, *arch, device_.info().accepts, template_.options(exported_.config)});
    if (!compiled)
      return std::unexpected("it does not compile: " + kernel::located(compiled.error(), source));
    if (const auto kept = kernel::keeps_state(*compiled)) return std::unexpected(*kept);
    const auto loaded = device_.load(compiled->image);
    if (!loaded)
      return std::unexpected(to_text(loaded.error().kind) + ": " + loaded.error().message);
    kernel_ = *loaded;
    resources_ = most_of(compiled->image);
  }
  auto planned = template_.plan(exported_.config, scope_of(target_, problem_.complete(shape)));
  if (!planned) return std::unexpected(planned.error());
  return gate::BoundKernel::of(*kernel_, std::move(*planned));
}

}  // namespace fa_tune::tuner
