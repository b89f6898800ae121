#include "engine/community/table/write_table.hpp"

#include <algorithm>

#include "engine/community/table/recorded_config.hpp"

namespace fa_tune::community {
namespace {

struct FailureName {
  Failure failure;
  const char* cachefile;  // the class of Kernel Tuner
  const char* t4;         // `invalidity`
};

constexpr FailureName kFailureNames[] = {
    {Failure::none, "", "correct"},
    {Failure::invalid, "InvalidConfig", "constraints"},
    {Failure::compile, "CompilationFailedConfig", "compile"},
    {Failure::runtime, "RuntimeFailedConfig", "runtime"},
    // Kernel Tuner has no name of its own for a wrong answer.
    {Failure::wrong, "RuntimeFailedConfig", "correctness"},
    {Failure::other, "ErrorConfig", "runtime"},
};

const FailureName& names_of(Failure failure) {
  return *std::ranges::find(kFailureNames, failure, &FailureName::failure);
}

Json json_of(const Value& value) {
  return std::visit([](const auto& held) { return Json(held); }, value);
}

std::vector<std::string> parameter_names(const RecordedRun& run) {
  std::vector<std::string> names;
  for (const RecordedTrial& trial : run.trials)
    for (const auto& [name, value] : trial.config.settings())
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  return names;
}

// The values that occur: numbers in order, then None where some configs lack the parameter.
Json values_of(const RecordedRun& run, const std::string& name) {
  std::vector<Value> values;
  bool is_missing = false;
  for (const RecordedTrial& trial : run.trials) {
    const Value* value = trial.config.find(name);
    if (value == nullptr)
      is_missing = true;
    else if (std::ranges::find(values, *value) == values.end())
      values.push_back(*value);
  }
  if (!std::holds_alternative<std::string>(values.at(0))) std::ranges::sort(values);
  Json list = Json::array();
  for (const Value& value : values) list.push_back(json_of(value));
  if (is_missing) list.push_back(nullptr);
  return list;
}

Json time_or_failure(const RecordedTrial& trial) {
  return trial.time_ms ? Json(*trial.time_ms) : Json(names_of(trial.failure).cachefile);
}

}  // namespace

std::string cachefile_text(const RecordedRun& run) {
  const std::vector<std::string> names = parameter_names(run);
  Json head = {{"device_name", run.device}, {"kernel_name", run.kernel}};
  head["problem_size"] = run.problem_size;
  for (const auto& [name, value] : run.facts) head[name] = value;
  head["tune_params_keys"] = names;
  head["tune_params"] = Json::object();
  for (const std::string& name : names) head["tune_params"][name] = values_of(run, name);
  head["objective"] = "time";

  // An entry a line, as Kernel Tuner writes them.
  std::string text = head.dump();
  text.back() = ',';
  text += "\n\"cache\": {";
  std::string separator = "\n";
  for (const RecordedTrial& trial : run.trials) {
    std::string key;
    Json entry = Json::object();
    for (const std::string& name : names) {
      const Value* value = trial.config.find(name);
      key += (key.empty() ? "" : ",") + (value == nullptr ? "None" : python_text(*value));
      entry[name] = value == nullptr ? Json(nullptr) : json_of(*value);
    }
    entry["time"] = time_or_failure(trial);
    if (!trial.samples_ms.empty()) entry["times"] = trial.samples_ms;
    entry["compile_time"] = trial.compile_ms;
    entry["verification_time"] = trial.verification_ms;
    entry["benchmark_time"] = trial.benchmark_ms;
    entry["strategy_time"] = 0;
    entry["framework_time"] = 0;
    entry["timestamp"] = trial.timestamp;
    text += separator + Json(key).dump() + ": " + entry.dump();
    separator = ",\n";
  }
  return text + "}}\n";
}

std::string t4_text(const RecordedRun& run) {
  Json metadata = {{"timeunit", "milliseconds"}, {"device", run.device}, {"kernel", run.kernel}};
  for (const auto& [name, value] : run.facts) metadata[name] = value;
  Json results = Json::array();
  for (const RecordedTrial& trial : run.trials) {
    Json configuration = Json::object();
    for (const auto& [name, value] : trial.config.settings()) configuration[name] = json_of(value);
    results.push_back({{"timestamp", trial.timestamp},
                       {"configuration", std::move(configuration)},
                       {"times",
                        {{"compilation_time", trial.compile_ms},
                         {"benchmark_time", trial.benchmark_ms},
                         {"validation", trial.verification_ms},
                         {"framework", 0},
                         {"search_algorithm", 0},
                         {"runtimes", trial.samples_ms}}},
                       {"invalidity", names_of(trial.failure).t4},
                       {"correctness", trial.time_ms ? 1 : 0},
                       {"measurements", Json::array({{{"name", "time"},
                                                      {"value", time_or_failure(trial)},
                                                      {"unit", "milliseconds"}}})},
                       {"objectives", Json::array({"time"})}});
  }
  const Json file = {{"schema_version", "1.0.0"},
                     {"metadata", std::move(metadata)},
                     {"results", std::move(results)}};
  return file.dump(1) + "\n";
}

}  // namespace fa_tune::community
