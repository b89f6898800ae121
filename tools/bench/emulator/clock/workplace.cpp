#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "engine/kernel/compile/nvrtc_compiler.hpp"
#include "engine/space_file/space_settings.hpp"
#include "engine/util/environment.hpp"
#include "engine/util/error.hpp"
#include "tools/bench/emulator/clock/clock.hpp"

namespace fa_tune::bench {
namespace {

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::size_t begin = 0;
  for (std::size_t end = 0; end != std::string::npos; begin = end + 1) {
    end = text.find(',', begin);
    words.push_back(text.substr(begin, end - begin));
  }
  return words;
}

}  // namespace

tuner::TuningTask ShapeName::open(const std::string& space) const {
  std::vector<std::string> changes = words_of(text);
  if (changes.front().find('=') == std::string::npos) {
    if (changes.size() < 4)
      throw UserError(fmt::format("'{}' is no shape: expected B,H,L,D or NAME=VALUE,...", text));
    changes.insert(changes.begin() + 4, "shape.Lk=" + changes[2]);
    const std::array<const char*, 4> names = {"shape.B=", "shape.H=", "shape.Lq=", "shape.D="};
    for (std::size_t i = 0; i < names.size(); ++i) changes[i] = names[i] + changes[i];
  }
  for (std::string& change : changes)
    if (change.find('=') == std::string::npos)
      change = change == "causal" ? "causal=true" : "dtype=" + change;
  return tuner::open_task(space::with_settings(space::load_space_file(space, find_root()), changes),
                          find_root());
}

Workplace::Workplace(const tuner::TuningTask& task, device::Device& device)
    : task_(task),
      device_(device),
      instance_(task.problem->make(task.problem->shape(), problem::Inputs::normal, 1)) {}

device::Launch Workplace::launch(const Config& config, device::KernelHandle kernel) {
  const kernel::Template& from = task_.template_of(config);
  PlannedLaunch planned = from.require_plan(config, task_.scope(task_.problem->shape()));
  const auto bound = gate::BoundKernel::of(kernel, std::move(planned));
  const bool alone = bound.steps.empty() && bound.workspaces.empty() && bound.scalars.empty();
  if (!data_ || !alone || names_ != bound.argument_names || maps_ != bound.maps) {
    data_ = std::make_unique<gate::TimedLaunch>(device_, bound, instance_);
    names_ = bound.argument_names;
    maps_ = bound.maps;
  }
  device::Launch launch = data_->launch();
  launch.kernel = kernel;
  launch.config = bound.launch;
  return launch;
}

std::vector<Json> chosen_rows(const Json& measured, std::size_t every) {
  std::vector<Json> rows = measured.at("rows").get<std::vector<Json>>();
  std::ranges::stable_sort(rows, {},
                           [](const Json& row) { return row.at("median_us").get<double>(); });
  std::vector<Json> chosen;
  for (std::size_t i = 0; i < rows.size(); i += std::max<std::size_t>(every, 1))
    chosen.push_back(std::move(rows[i]));
  return chosen;
}

std::unique_ptr<kernel::Compiler> compiler_with(const std::string& folder) {
  auto compiler = kernel::open_nvrtc();
  return folder.empty() ? std::move(compiler) : kernel::with_cache(std::move(compiler), folder);
}

kernel::CompileRequest request_of(const tuner::TuningTask& task, const Config& config,
                                  const device::DeviceInfo& device) {
  const problem::Problem& problem = *task.problem;
  const kernel::Template& from = task.template_of(config);
  return {from.render(config, problem.defines(problem.shape())),
          from.arch_on(device.arch).value_or(device.arch), device.accepts, from.options(config)};
}

}  // namespace fa_tune::bench
