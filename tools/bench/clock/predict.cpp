#include <fmt/core.h>

#include "engine/device/local/open.hpp"
#include "engine/util/environment.hpp"
#include "engine/util/error.hpp"
#include "engine/util/stopwatch.hpp"
#include "tools/bench/clock/clock.hpp"

namespace fa_tune::bench {

Json predict_variants(const Json& measured, const PredictOptions& options) {
  const ShapeName shape{measured.at("shape").get<std::string>()};
  const tuner::TuningTask task = shape.open(measured.at("space").get<std::string>());
  const auto device = device::open_device(options.device, task.target, find_root());
  if (device->info().times != device::TimeKind::predicted)
    throw UserError(options.device + " does not predict: name an emulator");
  const auto compiler = compiler_with(options.cache);
  kernel::CompilePool pool(*compiler, options.threads);
  std::vector<Config> configs;
  std::vector<std::future<kernel::CompileOutcome>> compiled;
  for (const Json& row : measured.at("rows")) {
    configs.push_back(Config::from_json(row.at("config").dump()));
    compiled.push_back(pool.submit(request_of(task, configs.back(), device->info())));
  }
  Workplace workplace(task, *device);

  Json result = measured;
  result["model"] = options.device;
  double spent_ms = 0;
  for (std::size_t i = 0; i < configs.size(); ++i) {
    const kernel::CompileOutcome outcome = compiled[i].get();
    if (!outcome)
      throw MachineError("a measured variant does not compile: " + outcome.error().message);
    const auto kernel = device->load(outcome->image);
    if (!kernel) throw MachineError("a measured variant does not load: " + kernel.error().message);
    const Stopwatch watch;
    const auto timing = device->time(workplace.launch(configs[i], *kernel), {});
    if (!timing) throw MachineError("a measured variant fails: " + timing.error().message);
    spent_ms += watch.milliseconds();
    Json& row = result["rows"][i];
    row["predicted_us"] = timing->samples_us.front();
    row["detail"] = Json::parse(timing->detail_json);
    device->unload(*kernel);
  }
  result["ms_per_prediction"] = spent_ms / static_cast<double>(configs.size());
  return result;
}

}  // namespace fa_tune::bench
