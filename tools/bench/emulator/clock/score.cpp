#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "tools/bench/emulator/clock/clock.hpp"

namespace fa_tune::bench {
namespace {

// Places 0, 1, ... in ascending order; equal values share the mean of their places.
std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> result(values.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (std::size_t i = begin; i < end; ++i)
      result[order[i]] = static_cast<double>(begin + end - 1) / 2;
    begin = end;
  }
  return result;
}

double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const auto n = static_cast<double>(a.size());
  const double mean_a = std::accumulate(a.begin(), a.end(), 0.0) / n;
  const double mean_b = std::accumulate(b.begin(), b.end(), 0.0) / n;
  double ab = 0;
  double aa = 0;
  double bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return ab / std::sqrt(aa * bb);
}

// Kendall's tau-b.
double kendall(const std::vector<double>& a, const std::vector<double>& b) {
  double agreement = 0;
  double pairs_a = 0;
  double pairs_b = 0;
  const auto sign = [](double x) { return (x > 0) - (x < 0); };
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = i + 1; j < a.size(); ++j) {
      const int in_a = sign(a[i] - a[j]);
      const int in_b = sign(b[i] - b[j]);
      agreement += in_a * in_b;
      pairs_a += in_a != 0;
      pairs_b += in_b != 0;
    }
  }
  return agreement / std::sqrt(pairs_a * pairs_b);
}

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(
      std::lround(share * static_cast<double>(values.size() - 1)))];
}

Json score(const std::vector<double>& measured, const std::vector<double>& predicted) {
  if (measured.size() < 2) return {{"variants", measured.size()}};
  std::vector<double> log_ratios;
  std::vector<double> errors;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    log_ratios.push_back(std::log(predicted[i] / measured[i]));
    errors.push_back(std::abs(log_ratios.back()));
  }
  const auto best = static_cast<std::size_t>(std::min_element(measured.begin(), measured.end()) -
                                             measured.begin());
  const auto chosen = static_cast<std::size_t>(
      std::min_element(predicted.begin(), predicted.end()) - predicted.begin());
  const std::vector<double> predicted_ranks = ranks(predicted);
  const double tenth = static_cast<double>(measured.size()) / 10;
  double best_of_tenth = HUGE_VAL;
  for (std::size_t i = 0; i < measured.size(); ++i)
    if (predicted_ranks[i] < tenth) best_of_tenth = std::min(best_of_tenth, measured[i]);
  return {{"variants", measured.size()},
          {"spearman", correlation(ranks(measured), predicted_ranks)},
          {"kendall", kendall(measured, predicted)},
          {"median_abs_log_ratio", quantile(errors, 0.5)},
          {"p90_abs_log_ratio", quantile(errors, 0.9)},
          {"median_ratio", std::exp(quantile(log_ratios, 0.5))},
          {"measured_best_us", measured[best]},
          {"best_predicted_rank", predicted_ranks[best] + 1},
          {"best_in_top_tenth", predicted_ranks[best] < tenth},
          {"regret_of_predicted_best", measured[chosen] / measured[best] - 1},
          {"regret_of_top_tenth", best_of_tenth / measured[best] - 1}};
}

}  // namespace

Json score_variants(const Json& predicted) {
  struct Times {
    std::vector<double> measured;
    std::vector<double> predicted;
  };
  std::map<std::string, Times> groups;
  bool many_shapes = false;
  for (const Json& row : predicted.at("rows")) {
    if (!row.contains("predicted_us")) continue;
    const bool has_flop = row.contains("flop");
    many_shapes = many_shapes || has_flop;
    const double unit = has_flop ? row.at("flop").get<double>() : 1;
    const auto add = [&](const std::string& name) {
      groups[name].measured.push_back(row.at("median_us").get<double>() / unit);
      groups[name].predicted.push_back(row.at("predicted_us").get<double>() / unit);
    };
    add("all");
    add(has_flop ? row.at("half").get<std::string>()
                 : row.at("config").at("template").get<std::string>());
  }
  Json result = Json::object();
  for (const auto& [name, times] : groups) {
    result[name] = score(times.measured, times.predicted);
    if (many_shapes) result[name]["a_flop"] = true;
  }
  return result;
}

std::string describe_score(const Json& score) {
  std::string text;
  for (const auto& [name, s] : score.items()) {
    if (!s.contains("spearman")) continue;
    text += fmt::format(
        "{:7} {:4} variants: Spearman {:.3f}, Kendall {:.3f}; |log ratio| median {:.3f}, 90% "
        "{:.3f}; predicted / measured {:.2f}\n",
        name, s["variants"].get<int>(), s["spearman"].get<double>(), s["kendall"].get<double>(),
        s["median_abs_log_ratio"].get<double>(), s["p90_abs_log_ratio"].get<double>(),
        s["median_ratio"].get<double>());
    // The best of several shapes would be the best shape.
    if (s.contains("a_flop")) continue;
    text += fmt::format(
        "        measured best {:.2f} us is number {:.0f} of the predicted ({}in the top 10%); "
        "regret of the predicted best {:.1f}%, of the top 10% {:.1f}%\n",
        s["measured_best_us"].get<double>(), s["best_predicted_rank"].get<double>(),
        s["best_in_top_tenth"].get<bool>() ? "" : "not ",
        100 * s["regret_of_predicted_best"].get<double>(),
        100 * s["regret_of_top_tenth"].get<double>());
  }
  return text;
}

}  // namespace fa_tune::bench
