#include "engine/tuner/loop/run_options.hpp"

#include <algorithm>
#include <limits>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "engine/util/error.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::tuner {

BatchPolicy choose_batch_policy(bool learns, const Capacity& capacity) {
  // More of them would only cost the strategy time, which has one model for a generation.
  constexpr int kMostGenerations = 32;
  constexpr int kMany = 128;
  constexpr int kGenerationsOfMany = 16;
  constexpr int kUnderWayWithoutLearning = 128;
  constexpr int kForEachDevice = 8;
  BatchPolicy policy;
  int under_way = policy.under_way();
  if (capacity.measures) {
    int most = std::numeric_limits<int>::max();
    if (capacity.trials) most = *capacity.trials / 8;
    const int wanted = 2 * capacity.compilers + kForEachDevice * capacity.devices;
    under_way = std::max(under_way, std::min(wanted, most));
  }
  if (!learns) under_way = std::max(under_way, kUnderWayWithoutLearning);
  const auto parts_of = [](int whole, int part) { return (whole + part - 1) / part; };
  const int generations = under_way > kMany ? kGenerationsOfMany : kMostGenerations;
  policy.generation *= parts_of(under_way, generations * policy.generation);
  policy.ahead = parts_of(under_way, policy.generation) - 1;
  return policy;
}

db::RunRow describe_run(const TuningTask& task, const std::vector<std::string>& devices,
                        const device::DeviceInfo& device, const std::string& compiler,
                        const EvolveOptions& options) {
  db::RunRow run;
  run.space = task.file.name;
  run.space_hash = task.space.hash();
  run.space_text = task.file.text;
  run.problem = task.problem->kind();
  run.shape_json = fa_tune::to_json(task.problem->shape());
  run.device = fmt::format("{}", fmt::join(devices, ","));
  run.device_name = device.name;
  run.arch = device.arch;
  run.target = task.target.name;
  run.time_kind = to_text(device.times);
  run.driver = device.driver;
  run.compiler = compiler;
  run.strategy = options.strategy;
  run.seed = options.seed;
  nlohmann::ordered_json json = {{"generation", options.policy.generation},
                                 {"ahead", options.policy.ahead}};
  if (options.trials) json["trials"] = *options.trials;
  if (options.seconds) json["seconds"] = *options.seconds;
  if (options.proposer) json["proposer"] = {{"share", options.proposer->share}};
  if (!options.earlier.empty()) json["earlier"] = nlohmann::json::parse(to_json(options.earlier));
  if (!options.warm) json["warm"] = false;
  run.options_json = json.dump();
  return run;
}

void require_same(const std::string& what, const std::string& stored, const std::string& now) {
  if (stored != now)
    throw UserError(fmt::format("the run cannot be resumed: its {} was '{}', now it is '{}'", what,
                                stored.substr(0, 60), now.substr(0, 60)));
}

BatchPolicy batch_policy_of(const db::RunRow& run) {
  const auto options = nlohmann::json::parse(run.options_json);
  const auto wrong = [&run] {
    return UserError(
        fmt::format("the run cannot be resumed: its options have no usable batch policy: {}",
                    quote_text(run.options_json)));
  };
  constexpr int kMost = 10'000;
  const auto count = [&](const char* name, int otherwise, int least) {
    if (!options.contains(name)) return otherwise;
    if (!options[name].is_number_integer()) throw wrong();
    const auto found = options[name].get<std::int64_t>();
    if (found < least || found > kMost) throw wrong();
    return static_cast<int>(found);
  };
  return {.generation = count("generation", 16, 1), .ahead = count("ahead", 0, 0)};
}

bool is_warm(const db::RunRow& run) {
  return nlohmann::json::parse(run.options_json).value("warm", nlohmann::json(true)) != false;
}

std::optional<double> proposer_share(const db::RunRow& run) {
  const auto options = nlohmann::json::parse(run.options_json);
  if (!options.contains("proposer")) return std::nullopt;
  return options["proposer"].at("share").get<double>();
}

}  // namespace fa_tune::tuner
