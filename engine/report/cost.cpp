#include "engine/report/cost.hpp"

#include <algorithm>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace fa_tune::report {
namespace {

constexpr double kSecondsAnHour = 3600;
constexpr double kLeastGain = 0.1;  // percent; a share of less is a figure without a meaning

std::string words(const RunCost& cost, std::optional<double> price, double share) {
  std::string text = fmt::format("{:.3g} GPU seconds", cost.gpu_s * share);
  text += cost.joules ? fmt::format(", {:.3g} kJ", *cost.joules * share / 1000)
                      : ", energy unknown: NVML does not tell it";
  if (price)
    text += fmt::format(", {:.2g} at {:.2f} a GPU hour",
                        *price * cost.gpu_s * share / kSecondsAnHour, *price);
  return text;
}

}  // namespace

RunCost cost_of(const std::vector<db::SessionRow>& sessions, bool measured) {
  RunCost cost;
  if (!measured) return cost;
  cost.joules = 0;
  for (const db::SessionRow& session : sessions) {
    const auto breakdown = nlohmann::json::parse(session.breakdown_json, nullptr, false);
    const auto devices = nlohmann::json::parse(session.devices_json, nullptr, false);
    if (!breakdown.is_object() || !devices.is_array()) continue;
    cost.gpu_s += breakdown.value("wall_s", 0.0) * static_cast<double>(devices.size());
    const auto joules = breakdown.find("joules");
    if (joules != breakdown.end() && joules->is_number() && cost.joules)
      *cost.joules += joules->get<double>();
    else
      cost.joules.reset();
  }
  if (cost.gpu_s == 0) cost.joules.reset();
  return cost;
}

std::optional<double> percent_gained(const db::Store& store, std::int64_t run) {
  db::TrialFilter filter;
  filter.run = run;
  filter.limit = 1;
  const auto best = store.best(filter);
  if (best.empty()) return std::nullopt;
  for (const db::TrialRow& trial : store.trials(run)) {
    if (trial.outcome != Outcome::passed) continue;
    const auto& first = trial.screen_time;
    const auto& last = best.front().screen_time;
    if (!first || !last) return std::nullopt;
    return 100 * (1 - last->us.value / first->us.value);
  }
  return std::nullopt;
}

std::vector<std::string> cost_words(const RunCost& cost, std::optional<double> gained,
                                    std::optional<double> price) {
  if (cost.gpu_s <= 0) return {};
  std::vector<std::string> lines = {words(cost, price, 1)};
  if (gained && *gained >= kLeastGain)
    lines.push_back(words(cost, price, 1 / *gained) +
                    fmt::format(" for each of the {:.1f} percent by which its best takes less time "
                                "than its first trial that passed",
                                *gained));
  return lines;
}

}  // namespace fa_tune::report
