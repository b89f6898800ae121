#include "engine/tuner/comparison/baseline.hpp"

#include <nlohmann/json.hpp>

#include "engine/report/text_format.hpp"
#include "engine/util/error.hpp"
#include "engine/util/json_limits.hpp"
#include "engine/util/printable.hpp"

namespace fa_tune::tuner {
namespace {

using Json = nlohmann::ordered_json;

// Goes up when a reader of the old one would be misled.
constexpr int kFormat = 1;

BaselineKernel kernel_of(const Json& json) {
  const Json& us = json.at("time_us");
  BaselineKernel kernel{.file = json.at("file").get<std::string>(),
                        .text = json.at("text").get<std::string>(),
                        .time_us = {us.at("median").get<double>(), us.at("low").get<double>(),
                                    us.at("high").get<double>()},
                        .resources = {}};
  kernel.resources.registers = json.at("registers").get<int>();
  kernel.resources.spill_store_bytes = json.at("spill_bytes").get<int>();
  return kernel;
}

}  // namespace

std::string to_json(const Baseline& baseline) {
  Json kernels = Json::array();
  for (const BaselineKernel& kernel : baseline.kernels)
    kernels.push_back({{"file", kernel.file},
                       {"time_us", report::interval_json(kernel.time_us)},
                       {"registers", kernel.resources.registers},
                       {"spill_bytes", kernel.resources.spill_store_bytes},
                       {"text", kernel.text}});
  return Json{{"fa_tune_baseline", kFormat},
              {"device", baseline.device},
              {"kind", baseline.time_kind},
              {"compiler", baseline.compiler},
              {"kernels", kernels}}
             .dump(1) +
         "\n";
}

Baseline parse_baseline(const std::string& text, const std::filesystem::path& file) {
  const auto unlike = [&](const std::string& what) {
    return UserError(file.string() + ": " + what +
                     "; write it anew with: fa-tune check --write --baseline " + file.string() +
                     " KERNEL.cu ...");
  };
  try {
    if (const auto excess = json_excess(text)) throw unlike(*excess);
    const Json json = Json::parse(text);
    if (json.at("fa_tune_baseline").get<int>() != kFormat)
      throw unlike("is a baseline of another version of fa-tune");
    Baseline baseline{.device = json.at("device").get<std::string>(),
                      .time_kind = json.at("kind").get<std::string>(),
                      .compiler = json.at("compiler").get<std::string>(),
                      .kernels = {}};
    for (const Json& kernel : json.at("kernels")) baseline.kernels.push_back(kernel_of(kernel));
    return baseline;
  } catch (const nlohmann::json::exception& error) {
    throw unlike("is no baseline (" + printable(error.what(), kLongestReason) + ")");
  }
}

}  // namespace fa_tune::tuner
