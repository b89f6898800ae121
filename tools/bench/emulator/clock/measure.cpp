#include <algorithm>
#include <ctime>
#include <map>
#include <set>

#include <fmt/chrono.h>
#include <fmt/core.h>

#include "engine/device/cuda/cuda_device.hpp"
#include "engine/device/local/open.hpp"
#include "engine/measure/sampler.hpp"
#include "engine/measure/timing.hpp"
#include "engine/util/environment.hpp"
#include "engine/util/error.hpp"
#include "engine/util/random.hpp"
#include "engine/util/stopwatch.hpp"
#include "tools/bench/emulator/clock/clock.hpp"

namespace fa_tune::bench {
namespace {

bool has(const Json& config, const std::string& gene) {
  const std::size_t equals = gene.find('=');
  if (equals == std::string::npos) throw UserError("'" + gene + "' is no NAME=VALUE");
  const auto found = config.find(gene.substr(0, equals));
  const std::string wanted = gene.substr(equals + 1);
  return found != config.end() && (*found == wanted || found->dump() == wanted);
}

std::unique_ptr<device::Device> open(const MeasureOptions& options, const tuner::TuningTask& task) {
  if (options.sms == 0) return device::open_device(options.device, task.target, find_root());
  if (options.device != "cuda:0") throw UserError("--sms is for cuda:0");
  return cuda::open_cuda(0, {.sms = options.sms});
}

// Distinct ones, in the order drawn: the first of a longer list are a shorter one of the same seed.
std::vector<Config> draw(const tuner::TuningTask& task, const MeasureOptions& options) {
  Random random(derive_seed(options.seed, "variants"));
  std::vector<Config> configs;
  std::set<std::string> seen;
  for (int tries = 0; tries < 1000 * options.count; ++tries) {
    if (static_cast<int>(configs.size()) == options.count) break;
    Config config = task.space.sample(random);
    const bool wanted =
        (options.template_name.empty() ||
         task.template_of(config).name() == options.template_name) &&
        std::ranges::all_of(options.genes, [&, genes = Json::parse(config.to_json())](
                                               const auto& gene) { return has(genes, gene); });
    if (wanted && seen.insert(config.to_json()).second) configs.push_back(std::move(config));
  }
  return configs;
}

Json dim(const Dim3& size) { return {size.x, size.y, size.z}; }

Json row_of(const Config& config, const KernelImage& image, const LaunchConfig& launch) {
  const KernelResources& resources = image.resources;
  return {{"config", Json::parse(config.to_json())},
          {"registers", resources.registers},
          {"spill_store_bytes", resources.spill_store_bytes},
          {"spill_load_bytes", resources.spill_load_bytes},
          {"static_shared_bytes", resources.static_shared_bytes},
          {"dynamic_shared_bytes", launch.dynamic_shared_bytes},
          {"grid", dim(launch.grid)},
          {"block", dim(launch.block)}};
}

}  // namespace

Json measure_variants(const MeasureOptions& options) {
  const tuner::TuningTask task = options.shape.open(options.space);
  const auto device = open(options, task);
  if (device->info().times != device::TimeKind::measured)
    throw UserError(options.device + " has no clock: measure on a GPU");
  const auto compiler = compiler_with(options.cache);
  kernel::CompilePool pool(*compiler, options.threads);
  const std::vector<Config> configs = draw(task, options);
  std::vector<std::future<kernel::CompileOutcome>> compiled;
  for (const Config& config : configs)
    compiled.push_back(pool.submit(request_of(task, config, device->info())));
  Workplace workplace(task, *device);

  Json rows = Json::array();
  std::map<std::string, int> skipped = {{"not compiled", 0}, {"faulted", 0}, {"too slow", 0}};
  for (std::size_t i = 0; i < configs.size(); ++i) {
    const kernel::CompileOutcome outcome = compiled[i].get();
    if (!outcome) {
      ++skipped["not compiled"];
      continue;
    }
    if (device->lost()) break;  // what was timed before is still worth keeping
    const auto kernel = device->load(outcome->image);
    if (!kernel) {
      ++skipped["faulted"];
      continue;
    }
    const device::Launch launch = workplace.launch(configs[i], *kernel);
    // The first launch also brings the code to the GPU.
    bool right = device->launch(launch).has_value();
    const Stopwatch once;
    right = right && device->launch(launch).has_value();
    const bool slow = once.milliseconds() > options.limit_ms;
    if (right && !slow) {
      const auto measured = measure::measure(*device, launch, measure::Effort::screen);
      right = measured.has_value();
      if (right) {
        Json row = row_of(configs[i], outcome->image, launch.config);
        row["median_us"] = measured->time_us.value;
        if (const auto kilocycles = measure::kilocycles_of(measured->timing))
          row["sm_mhz"] = 1000 * *kilocycles / measured->time_us.value;
        row["interval_us"] = {measured->time_us.low, measured->time_us.high};
        rows.push_back(std::move(row));
      }
    }
    if (!right) ++skipped["faulted"];
    if (right && slow) ++skipped["too slow"];
    device->unload(*kernel);
  }
  return {{"space", options.space},
          {"shape", options.shape.text},
          {"seed", options.seed},
          {"template", options.template_name},
          {"genes", options.genes},
          {"sms", device->info().sms},
          {"drawn", configs.size()},
          {"skipped", skipped},
          {"device_lost", device->lost()},
          {"launch_limit_ms", options.limit_ms},
          {"device", device->info().name},
          {"driver", device->info().driver},
          {"compiler", compiler->version()},
          {"date", fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)))},
          {"rows", rows}};
}

void launch_variants(const Json& measured, const LaunchOptions& options) {
  const ShapeName shape{measured.at("shape").get<std::string>()};
  const tuner::TuningTask task = shape.open(measured.at("space").get<std::string>());
  const auto device = device::open_device(options.device, task.target, find_root());
  const auto compiler = compiler_with("");
  kernel::CompilePool pool(*compiler, options.threads);
  std::vector<Config> configs;
  std::vector<std::future<kernel::CompileOutcome>> compiled;
  for (const Json& row : chosen_rows(measured, options.every)) {
    configs.push_back(Config::from_json(row.at("config").dump()));
    compiled.push_back(pool.submit(request_of(task, configs.back(), device->info())));
  }
  Workplace workplace(task, *device);
  for (std::size_t i = 0; i < configs.size(); ++i) {
    const kernel::CompileOutcome outcome = compiled[i].get();
    if (!outcome)
      throw MachineError("a measured variant does not compile: " + outcome.error().message);
    const auto kernel = device->load(outcome->image);
    if (!kernel) throw MachineError("a measured variant does not load: " + kernel.error().message);
    const auto done = device->launch(workplace.launch(configs[i], *kernel));
    if (!done) throw MachineError("a measured variant fails: " + done.error().message);
    device->unload(*kernel);
    fmt::print("{}\n", configs[i].to_json());
  }
}

}  // namespace fa_tune::bench
