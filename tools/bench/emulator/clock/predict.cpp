#include <fmt/core.h>

#include "engine/device/local/open.hpp"
#include "engine/util/environment.hpp"
#include "engine/util/error.hpp"
#include "engine/util/stopwatch.hpp"
#include "tools/bench/emulator/clock/clock.hpp"

namespace fa_tune::bench {

namespace {

// Predicts rows of one shape; those that fail go nowhere.
class Predictor {
 public:
  Predictor(const PredictOptions& options, const std::string& space, const ShapeName& shape,
            kernel::Compiler& compiler)
      : task_(shape.open(space)),
        device_(device::open_device(options.device, task_.target, find_root())),
        pool_(compiler, options.threads) {
    if (device_->info().times != device::TimeKind::predicted)
      throw UserError(options.device + " does not predict: name an emulator");
  }

  void run(std::vector<Json>& rows) {
    std::vector<Config> configs;
    std::vector<std::future<kernel::CompileOutcome>> compiled;
    for (const Json& row : rows) {
      configs.push_back(Config::from_json(row.at("config").dump()));
      compiled.push_back(pool_.submit(request_of(task_, configs.back(), device_->info())));
    }
    Workplace workplace(task_, *device_);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      // What an earlier model said.
      for (const char* key : {"predicted_us", "detail", "not_modelled"}) rows[i].erase(key);
      const kernel::CompileOutcome outcome = compiled[i].get();
      if (!outcome) {
        why_not = outcome.error().message;
        continue;
      }
      const auto kernel = device_->load(outcome->image);
      if (!kernel)
        throw MachineError("a measured variant does not load: " + kernel.error().message);
      const Stopwatch watch;
      const auto timing = device_->time(workplace.launch(configs[i], *kernel), {});
      if (!timing && timing.error().kind == device::FaultKind::not_modelled) {
        rows[i]["not_modelled"] = timing.error().message;
        device_->unload(*kernel);
        continue;
      }
      if (!timing) throw MachineError("a measured variant fails: " + timing.error().message);
      spent_ms += watch.milliseconds();
      rows[i]["predicted_us"] = timing->samples_us.front();
      rows[i]["detail"] = Json::parse(timing->detail_json);
      device_->unload(*kernel);
    }
  }

  double spent_ms = 0;
  std::string why_not;  // of the last variant that does not compile

 private:
  tuner::TuningTask task_;
  std::unique_ptr<device::Device> device_;
  kernel::CompilePool pool_;
};

}  // namespace

Json predict_variants(const Json& measured, const PredictOptions& options) {
  const auto compiler = compiler_with(options.cache);
  const auto shape_of = [&](const Json& row) {
    return row.value("shape", measured.value("shape", std::string()));
  };
  const Json& rows = measured.at("rows");
  Json result = measured;
  result["model"] = options.device;
  result["rows"] = Json::array();
  double spent_ms = 0;
  std::string why_not;
  for (std::size_t begin = 0; begin < rows.size();) {
    const ShapeName shape{shape_of(rows[begin])};
    std::vector<Json> of_shape;
    for (; begin < rows.size() && shape_of(rows[begin]) == shape.text; ++begin)
      of_shape.push_back(rows[begin]);
    Predictor predictor(options, measured.at("space").get<std::string>(), shape, *compiler);
    predictor.run(of_shape);
    spent_ms += predictor.spent_ms;
    why_not = predictor.why_not;
    for (Json& row : of_shape)
      if (row.contains("predicted_us") || row.contains("not_modelled"))
        result["rows"].push_back(std::move(row));
  }
  if (result["rows"].empty()) throw UserError("no variant of the list compiles: " + why_not);
  result["left_out"] = rows.size() - result["rows"].size();
  result["ms_per_prediction"] = spent_ms / static_cast<double>(result["rows"].size());
  return result;
}

}  // namespace fa_tune::bench
