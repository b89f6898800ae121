#include <charconv>

#include <fmt/format.h>

#include "engine/kernel/compile/nvrtc_compiler.hpp"
#include "engine/util/environment.hpp"
#include "engine/util/error.hpp"
#include "tools/bench/clock/clock.hpp"

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

std::int64_t number(const std::string& text, const std::string& shape) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    throw UserError(fmt::format("'{}' is no shape B,H,L,D: '{}' is no number", shape, text));
  return value;
}

}  // namespace

tuner::TuningTask ShapeName::open(const std::string& space) const {
  const std::vector<std::string> words = words_of(text);
  if (words.size() < 4) throw UserError(fmt::format("'{}' is no shape B,H,L,D", text));
  space::SpaceFile file = space::load_space_file(space, find_root());
  const auto set = [&](const std::string& name, const Value& value) {
    for (auto& [known, held] : file.problem_settings)
      if (known == name) held = value;
  };
  set("shape.B", number(words[0], text));
  set("shape.H", number(words[1], text));
  set("shape.Lq", number(words[2], text));
  set("shape.Lk", number(words[2], text));
  set("shape.D", number(words[3], text));
  for (std::size_t i = 4; i < words.size(); ++i) {
    if (words[i] == "causal") {
      set("causal", true);
    } else {
      set("dtype", words[i]);
    }
  }
  return tuner::open_task(std::move(file), find_root());
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
