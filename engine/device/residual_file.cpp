#include "engine/device/residual_file.hpp"

#include <cmath>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/device/emulator/prediction/kernel_features.hpp"
#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/util/json_limits.hpp"

namespace fa_tune::device {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kWeightStep = 1e-5;
// Of a kernel's row before its features: its time and error, which a fit is checked by, and the weight.
constexpr std::size_t kBeforeFeatures = 3;

double positive(const Json& object, const char* key) {
  const auto value = object.at(key).get<double>();
  if (!(value > 0) || !std::isfinite(value))
    throw UserError(fmt::format("'{}' is no number above zero", key));
  return value;
}

void read_features(const Json& features, emulator::ResidualModel& model) {
  const auto names = emulator::kernel_feature_names();
  bool same = features.size() == names.size();
  for (std::size_t i = 0; same && i < names.size(); ++i)
    same = features[i].at(0).get<std::string>() == names[i];
  if (!same)
    throw UserError(
        "it was fitted to other features than this program has: fit it again with "
        "tools/bench/emulator/clock/residuals");
  for (const Json& each : features) {
    const auto mean = each.at(1).get<double>(), deviation = each.at(2).get<double>();
    if (!std::isfinite(mean) || !(deviation > 0))
      throw UserError("a feature has no mean, or no deviation above zero");
    model.scales.push_back({each.at(0).get<std::string>(), mean, deviation});
  }
}

emulator::ResidualModel read_residuals(const Json& json) {
  emulator::ResidualModel model;
  model.gpu = json.at("gpu").get<std::string>();
  for (const auto& [name, kind] : json.at("kinds").items()) {
    model.kinds.push_back({name, kind.at("kernels").get<int>(), kind.at("shapes").get<int>(),
                           kind.at("low").get<double>(), kind.at("high").get<double>(),
                           kind.at("apart").get<double>()});
    const auto& [_, kernels, shapes, low, high, apart] = model.kinds.back();
    if (!(low <= high && std::isfinite(high - low) && apart >= 0))
      throw UserError(fmt::format("the errors of '{}' have no middle", name));
  }
  model.width = positive(json, "width");
  model.limit = positive(json, "limit");
  model.least_likeness = positive(json, "least likeness");
  read_features(json.at("features"), model);
  const double step = positive(json, "step");
  for (const auto& [set, rows] : json.at("sets").items()) {
    for (const Json& row : rows) {
      if (row.size() != kBeforeFeatures + model.scales.size())
        throw UserError(fmt::format("a kernel of '{}' has {} numbers, not {}", set, row.size(),
                                    kBeforeFeatures + model.scales.size()));
      model.weights.push_back(static_cast<float>(row[2].get<double>() * kWeightStep));
      for (std::size_t i = kBeforeFeatures; i < row.size(); ++i)
        model.points.push_back(static_cast<float>(row[i].get<double>() * step));
    }
  }
  return model;
}

}  // namespace

std::shared_ptr<const emulator::ResidualModel> load_residuals(const std::filesystem::path& file) {
  const std::string text = read_file(file, kJsonFile);
  try {
    return std::make_shared<emulator::ResidualModel>(read_residuals(require_json<Json>(text)));
  } catch (const UserError& error) {
    throw UserError(fmt::format("{}: {}", file.string(), error.what()));
  } catch (const Json::exception& error) {
    throw UserError(
        fmt::format("{}: not what `residuals` writes: {}", file.string(), error.what()));
  }
}

}  // namespace fa_tune::device
