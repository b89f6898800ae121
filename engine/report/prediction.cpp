#include "engine/report/prediction.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace fa_tune::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kTrialsNamed = 3;

// What a detail says under "interval".
struct Basis {
  std::string rests_on;
  std::string kind;
  double least = 0, most = 0;  // measured over predicted, of such kernels
  double apart = 0;
};

std::optional<Basis> basis_of(const db::TrialRow& trial) {
  const Json detail = Json::parse(trial.detail_json, nullptr, false);
  if (!detail.is_object()) return std::nullopt;
  const auto found = detail.find("interval");
  if (found == detail.end() || !found->is_object()) return std::nullopt;
  const auto text = [&](const char* key) {
    const auto held = found->find(key);
    return held != found->end() && held->is_string() ? held->get<std::string>() : std::string();
  };
  const auto number = [](const Json& value) { return value.is_number() ? value.get<double>() : 0; };
  Basis basis{text("rests_on"), text("kind")};
  basis.apart = number(found->value("apart", Json()));
  if (const Json error = found->value("error", Json()); error.is_array() && error.size() == 2) {
    basis.least = number(error[0]);
    basis.most = number(error[1]);
  }
  return basis;
}

// "12, 40, 41, ...".
std::string trials_text(const std::vector<std::int64_t>& trials) {
  const std::size_t named = std::min(trials.size(), kTrialsNamed);
  return fmt::format(
      "trial{} {}{}", trials.size() == 1 ? "" : "s",
      fmt::join(trials.begin(), trials.begin() + static_cast<std::ptrdiff_t>(named), ", "),
      named < trials.size() ? ", ..." : "");
}

}  // namespace

std::string interval_rests_on(const db::TrialRow& trial) {
  const auto basis = basis_of(trial);
  return basis ? basis->rests_on : "";
}

std::optional<PredictedTies> predicted_ties(const db::TrialRow& best,
                                            const std::vector<db::TrialRow>& trials) {
  const auto own = basis_of(best);
  if (!own || !(own->apart > 0) || !best.screen_time) return std::nullopt;
  const double least_us = best.screen_time->us.value;
  std::vector<std::pair<double, const db::TrialRow*>> near;
  PredictedTies ties{own->apart, {}, {}};
  const auto by_time = [](const auto& each) { return each.first; };
  for (const db::TrialRow& trial : trials)
    if (trial.id != best.id && trial.outcome == Outcome::passed && trial.screen_time)
      near.emplace_back(trial.screen_time->us.value / least_us, &trial);
  std::ranges::stable_sort(near, {}, by_time);
  for (const auto& [ratio, trial] : near) {
    const auto its = basis_of(*trial);
    if (!its) continue;
    if (its->kind == own->kind) {
      if (ratio < own->apart) ties.of_kind.push_back(trial->id);
    } else if (ratio * its->least < own->most) {
      ties.others.push_back(trial->id);
    }
  }
  return ties;
}

std::string ties_text(const PredictedTies& ties) {
  const auto& [ratio, of_kind, others] = ties;
  std::string text =
      of_kind.empty()
          ? fmt::format(
                "no other within {:.2f} times its time, from where on the model tells two apart",
                ratio)
          : fmt::format(
                "{} more within {:.2f} times its time: the model does not tell them apart "
                "({})",
                of_kind.size(), ratio, trials_text(of_kind));
  if (!others.empty())
    text +=
        fmt::format("; nor {} of another kind of kernel ({})", others.size(), trials_text(others));
  return text;
}

Json prediction_json(const db::TrialRow& best, const std::optional<PredictedTies>& ties) {
  const std::string words = interval_rests_on(best);
  if (words.empty()) return {};
  std::vector<std::int64_t> trials;
  if (ties) {
    trials = ties->of_kind;
    trials.insert(trials.end(), ties->others.begin(), ties->others.end());
  }
  return {{"rests_on", words},
          {"told_apart_from", ties ? Json(ties->ratio) : Json()},
          {"not_told_apart", ties ? Json(trials) : Json()}};
}

}  // namespace fa_tune::report
