#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>

#include <fmt/core.h>

#include "engine/community/table/recorded_config.hpp"
#include "engine/util/error.hpp"
#include "engine/util/gzip.hpp"
#include "engine/util/json_limits.hpp"
#include "engine/util/printable.hpp"
#include "engine/yaml/yaml.hpp"

// The two formats of recorded searches, described at https://kerneltuner.github.io (cachefiles) and
// in the FAIR standard of the autotuning community (T4: its output format). Both are JSON:
//   cachefile  {"device_name", "kernel_name", "tune_params_keys": [name, ...],
//               "tune_params": {name: [value, ...]}, "objective",
//               "cache": {"16,1": {name: value, ..., "time": ms or the name of a failure,
//                         "compile_time", "verification_time", "benchmark_time"}, ...}}
//   T4         {"results": [{"configuration": {name: value}, "objectives": [name],
//               "measurements": [{"name", "value", "unit"}], "invalidity", "times": {
//               "compilation" or "compilation_time", "validation", "runtimes": [ms, ...]}}]}
// An entry is taken, and its JSON dropped, as soon as it is whole: a file may end anywhere.
namespace fa_tune::community {
namespace {

// What Kernel Tuner once wrote for the time of a config that failed.
constexpr double kFailedTime = 1e20;
// Fewer samples may be equal by chance: clocks have steps.
constexpr std::size_t kFewestSamples = 5;

Failure failure_named(const std::string& name) {
  constexpr std::pair<const char*, Failure> known[] = {
      {"InvalidConfig", Failure::invalid},
      {"CompilationFailedConfig", Failure::compile},
      {"RuntimeFailedConfig", Failure::runtime},
      {"constraints", Failure::invalid},
      {"compile", Failure::compile},
      {"runtime", Failure::runtime},
      {"timeout", Failure::runtime},
      {"correctness", Failure::wrong},
      {"verification", Failure::wrong},
  };
  for (const auto& [text, failure] : known)
    if (name == text) return failure;
  return Failure::other;
}

double number_or_zero(const Json& object, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const auto found = object.find(name); found != object.end() && found->is_number())
      return found->get<double>();
  return 0;
}

std::string text_or_empty(const Json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}

// Python writes what is no number as NaN and Infinity, which JSON has not. They become empty text,
// padded so that places in messages stay.
std::string without_nan(std::string_view text) {
  std::string result(text);
  bool quoted = false;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const char c = result[i];
    if (quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == 'N' || c == 'I' || c == '-')) {
      for (const std::string_view word : {"NaN", "-Infinity", "Infinity"}) {
        if (!std::string_view(result).substr(i).starts_with(word)) continue;
        std::string blank(word.size(), ' ');
        blank[0] = blank[1] = '"';
        result.replace(i, word.size(), blank);
        i += word.size() - 1;
        break;
      }
    }
  }
  return result;
}

class TableReader {
 public:
  TableReader(std::string_view text, const std::filesystem::path& path)
      : text_(text), file_(path.string()) {
    std::string name = path.filename().string();
    for (const std::string_view ending : {".gz", ".json"})
      if (name.ends_with(ending)) name.resize(name.size() - ending.size());
    table_.name = std::move(name);
  }

  RecordedTable run() {
    const auto callback = [this](int depth, Json::parse_event_t event, Json& parsed) {
      return take(depth, event, parsed);
    };
    try {
      [[maybe_unused]] const Json rest = Json::parse(text_, callback);
    } catch (const Json::exception& error) {
      // Where it ended early all whole entries are here; what is no table at all has none.
      if (configs_.empty()) refuse(printable(error.what(), kLongestReason));
      table_.cut = true;
    }
    if (!is_cachefile_ && !is_t4_)
      refuse("neither `cache` (a Kernel Tuner cachefile) nor `results` (a T4 file) is there");
    if (configs_.empty()) refuse("holds no config");
    settle_times();
    settle(table_, declared(), std::move(configs_), file_);
    return std::move(table_);
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw UserError(fmt::format("{}: no table of recorded times: {}", file_, why));
  }

  void settle_times() {
    const double scale = is_t4_ ? ms_per_unit() : 1;
    bool has_costs = false;
    for (RecordedConfig& config : configs_) {
      if (config.time_ms) *config.time_ms *= scale;
      config.cost_ms *= scale;
      has_costs |= config.cost_ms > 0;
    }
    if (has_costs) return;
    table_.has_costs = false;
    for (RecordedConfig& config : configs_) config.cost_ms = 1;
  }

  double ms_per_unit() const {
    const auto unit = metadata_.find("timeunit");
    if (unit == metadata_.end()) return 1;
    constexpr std::pair<const char*, double> known[] = {
        {"miliseconds", 1},
        {"milliseconds", 1},
        {"ms", 1},  // the first is how writers spell it
        {"microseconds", 1e-3},
        {"us", 1e-3},
        {"nanoseconds", 1e-6},
        {"ns", 1e-6},
        {"seconds", 1e3},
        {"s", 1e3}};
    for (const auto& [name, ms] : known)
      if (*unit == name) return ms;
    refuse(
        fmt::format("metadata.timeunit is {}, expected milliseconds, microseconds, nanoseconds "
                    "or seconds",
                    quote_text(unit->dump())));
  }

  // Sees every value as it is finished; false drops it. Depths: 0 the document, 1 its entries, 2
  // the recorded configs.
  bool take(int depth, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start) {
      if (depth >= static_cast<int>(kDeepestJson))
        refuse(fmt::format("it is nested deeper than {} levels", kDeepestJson));
      members_[static_cast<std::size_t>(depth)] = 0;
    }
    if (event == Json::parse_event_t::key) {
      // Configs are taken out of the document one by one; what stays in it is bounded.
      const bool taken = depth == 2 && section_ == "cache";
      const std::size_t kept =
          ++members_.at(static_cast<std::size_t>(depth - 1)) - (taken ? configs_.size() : 0);
      if (kept > kMostJsonMembers)
        refuse(fmt::format("an object of it has more than {} members", kMostJsonMembers));
      if (depth == 1) section_ = parsed.get<std::string>();
      if (depth == 2) key_ = parsed.get<std::string>();
      return true;
    }
    if (depth == 1 && event == Json::parse_event_t::object_start)
      is_cachefile_ |= section_ == "cache";
    if (depth == 1 && event == Json::parse_event_t::array_start) is_t4_ |= section_ == "results";
    if (event == Json::parse_event_t::object_end && depth == 2) {
      if (section_ == "cache") take_cached(parsed);
      if (section_ == "results") take_result(parsed);
      return section_ != "cache" && section_ != "results";
    }
    const bool finished = event == Json::parse_event_t::object_end ||
                          event == Json::parse_event_t::array_end ||
                          event == Json::parse_event_t::value;
    if (depth == 1 && finished) take_head(parsed);
    return true;
  }

  void take_head(const Json& value) {
    if (section_ == "device_name") table_.device = text_or_empty(value);
    if (section_ == "kernel_name") table_.kernel = text_or_empty(value);
    if (section_ == "tune_params_keys" && value.is_array()) keys_ = value;
    if (section_ == "tune_params" && value.is_object()) values_ = value;
    if (section_ == "objective") objective_ = text_or_empty(value);
    if (section_ == "metadata" && value.is_object()) metadata_ = value;
  }

  DeclaredParameters declared() const {
    DeclaredParameters result;
    for (const auto& [name, values] : values_.items())
      if (values.is_array()) result.emplace_back(name, values.get<std::vector<Json>>());
    if (keys_.size() != result.size()) return result;
    const auto position = [&](const auto& entry) {
      return std::ranges::find(keys_, Json(entry.first)) - keys_.begin();
    };
    std::ranges::stable_sort(result, {}, position);
    return result;
  }

  // A time, or the name of why there is none.
  void set_time(RecordedConfig& config, const Json& value) const {
    if (value.is_number() && std::isfinite(value.get<double>()) && value.get<double>() > 0 &&
        value.get<double>() < kFailedTime)
      config.time_ms = value.get<double>();
    else
      config.failure = value.is_string() ? failure_named(value.get<std::string>()) : Failure::other;
  }

  void take_cached(const Json& entry) {
    RecordedConfig config;
    config.key = key_;
    for (const auto& [name, values] : values_.items()) {
      const auto found = entry.find(name);
      if (found == entry.end())
        refuse(fmt::format("config {} lacks the parameter '{}'", quote_text(key_), name));
      config.values.emplace_back(name, *found);
    }
    // A file's objective may be another quantity; what a search is told is always the time.
    auto time = entry.find("time");
    if (time == entry.end() && !objective_.empty()) time = entry.find(objective_);
    if (const auto error = entry.find("__error__"); error != entry.end() && !error->is_null())
      config.failure = failure_named(text_or_empty(*error));
    else if (time != entry.end())
      set_time(config, *time);
    else
      refuse(fmt::format("config {} has no 'time'", quote_text(key_)));
    config.cost_ms = number_or_zero(entry, {"compile_time"}) +
                     number_or_zero(entry, {"verification_time"}) +
                     number_or_zero(entry, {"benchmark_time"});
    config.samples = samples_of(entry);
    configs_.push_back(std::move(config));
  }

  static std::size_t samples_of(const Json& entry) {
    const auto times = entry.find("times");
    if (times == entry.end() || !times->is_array() || times->size() < kFewestSamples) return 0;
    const bool alike = std::ranges::count(*times, times->front()) == std::ssize(*times);
    return alike ? 0 : std::hash<Json>()(*times);
  }

  void take_result(const Json& result) {
    RecordedConfig config;
    const auto configuration = result.find("configuration");
    if (configuration == result.end() || !configuration->is_object())
      refuse(fmt::format("result {} has no 'configuration'", configs_.size() + 1));
    for (const auto& [name, value] : configuration->items())
      config.values.emplace_back(name, value);
    const std::string invalidity = text_or_empty(result.value("invalidity", Json()));
    if (!invalidity.empty() && invalidity != "correct")
      config.failure = failure_named(invalidity);
    else
      set_time(config, measured(result));
    const auto times = result.find("times");
    if (times != result.end() && times->is_object()) config.cost_ms = cost(*times);
    configs_.push_back(std::move(config));
  }

  static Json measured(const Json& result) {
    const auto measurements = result.find("measurements");
    if (measurements == result.end() || !measurements->is_array()) return {};
    for (const Json& measurement : *measurements)
      if (measurement.is_object() && measurement.value("name", Json()) == "time")
        return measurement.value("value", Json());
    return {};
  }

  // T4 has no time of the benchmark: it is the sum of the runs.
  static double cost(const Json& times) {
    double total = number_or_zero(times, {"compilation", "compilation_time"}) +
                   number_or_zero(times, {"validation", "verification", "validation_time"});
    const auto runtimes = times.find("runtimes");
    if (times.contains("benchmark") || times.contains("benchmark_time"))
      return total + number_or_zero(times, {"benchmark", "benchmark_time"});
    if (runtimes != times.end() && runtimes->is_array())
      for (const Json& runtime : *runtimes)
        if (runtime.is_number()) total += runtime.get<double>();
    return total;
  }

  std::string_view text_;
  std::string file_;
  RecordedTable table_;
  std::vector<RecordedConfig> configs_;
  std::string section_;  // the key of the document that is being read
  std::string key_;
  std::array<std::size_t, kDeepestJson> members_ = {};  // of each object that is open
  bool is_cachefile_ = false;
  bool is_t4_ = false;
  Json keys_ = Json::array();
  Json values_ = Json::object();
  Json metadata_ = Json::object();
  std::string objective_;
};

}  // namespace

RecordedTable parse_table(std::string_view text, const std::filesystem::path& path) {
  if (text.find("NaN") == text.npos && text.find("Infinity") == text.npos)
    return TableReader(text, path).run();
  return TableReader(without_nan(text), path).run();
}

RecordedTable read_table(const std::filesystem::path& path) {
  const PackedText packed = read_packed(path);
  return parse_table(packed.text, path);
}

}  // namespace fa_tune::community
