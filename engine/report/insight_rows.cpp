#include <cmath>

#include <fmt/core.h>

#include "engine/report/insights.hpp"
#include "engine/report/json.hpp"

namespace fa_tune::report {
namespace {

using Json = nlohmann::ordered_json;

// The part of the time that is saved, in percent: 20 where 80 us stand instead of 100.
double saved(double log_ratio) { return 100 * (1 - std::exp(log_ratio)); }

std::string faster(double log_ratio, double low, double high, const std::string& prefix) {
  return fmt::format("{}{:.1f}% faster ({:.1f}..{:.1f}%)", prefix, saved(log_ratio), saved(high),
                     saved(low));
}

// "at most 2.1% faster or 0.4% slower": all that the interval leaves open.
std::string no_effect(double low, double high, const std::string& prefix) {
  return fmt::format("no effect seen, {}at most {:.1f}% faster or {:.1f}% slower", prefix,
                     std::max(0.0, saved(low)), std::max(0.0, -saved(high)));
}

std::string outcome(double log_ratio, double low, double high, bool seen,
                    const std::string& prefix) {
  if (seen) return faster(log_ratio, low, high, prefix);
  return no_effect(low, high, prefix);
}

std::string rate(const search::Share& share) {
  return fmt::format("{:.0f}% ({} of {}, {:.0f}..{:.0f}%)", 100 * share.rate(), share.part,
                     share.of, 100 * share.low, 100 * share.high);
}

std::string words(const search::Effect& effect, const std::string& prefix) {
  return fmt::format(
      "{} {} over {}: {}, n={} {}", effect.gene, fa_tune::to_text(effect.value),
      fa_tune::to_text(effect.against),
      outcome(effect.log_ratio, effect.low, effect.high, effect.seen, prefix), effect.n,
      effect.method == search::InsightMethod::pairs ? "pairs" : "trials, by the model");
}

std::string words(const search::Interaction& interaction, const std::string& prefix) {
  const std::string subject = fmt::format(
      "{} {} over {} with {} {} over {}", interaction.gene, fa_tune::to_text(interaction.value),
      fa_tune::to_text(interaction.against), interaction.other_gene,
      fa_tune::to_text(interaction.other_value), fa_tune::to_text(interaction.other_against));
  const std::string found =
      outcome(interaction.log_ratio, interaction.low, interaction.high, interaction.seen, prefix);
  return fmt::format("{}: {}{}, n={} squares", subject, found,
                     interaction.seen ? " than the two add up to" : "", interaction.n);
}

std::string words(const search::FailureInsight& failure) {
  std::string stages;
  for (const auto& [stage, count] : failure.stages)
    stages += fmt::format("{}{} {}", stages.empty() ? "; at " : ", ", stage, count);
  return fmt::format("{} {}: {} fail, others {}{}{}", failure.gene, fa_tune::to_text(failure.value),
                     rate(failure.failed), rate(failure.others),
                     failure.seen ? "" : ", may be chance", stages);
}

std::string words(const search::OperatorGain& gain, const std::string& prefix) {
  const std::string passed = rate(gain.passed) + " passed";
  if (gain.better.of == 0)
    return fmt::format("{}: {}, no parents to compare with", gain.operation, passed);
  std::string text = fmt::format("{}: {}, {}better than their parent {}", gain.operation, passed,
                                 prefix, rate(gain.better));
  if (gain.cost_s > 0)
    text += fmt::format(", log gain a second {:.4f} ({:.4f}..{:.4f})", gain.per_s, gain.per_s_low,
                        gain.per_s_high);
  return text;
}

Json ratio_json(double log_ratio, double low, double high) {
  return {{"estimate", std::exp(log_ratio)}, {"low", std::exp(low)}, {"high", std::exp(high)}};
}

Json share_json(const search::Share& share) {
  return {{"part", share.part}, {"of", share.of}, {"low", share.low}, {"high", share.high}};
}

Json json_of(const search::Effect& effect) {
  return {{"gene", effect.gene},
          {"value", effect.value},
          {"against", effect.against},
          {"ratio", ratio_json(effect.log_ratio, effect.low, effect.high)},
          {"n", effect.n},
          {"method", to_text(effect.method)},
          {"p", effect.p},
          {"seen", effect.seen}};
}

Json json_of(const search::Interaction& interaction) {
  return {{"gene", interaction.gene},
          {"value", interaction.value},
          {"against", interaction.against},
          {"other_gene", interaction.other_gene},
          {"other_value", interaction.other_value},
          {"other_against", interaction.other_against},
          {"ratio", ratio_json(interaction.log_ratio, interaction.low, interaction.high)},
          {"n", interaction.n},
          {"p", interaction.p},
          {"seen", interaction.seen}};
}

Json json_of(const search::FailureInsight& failure) {
  return {{"gene", failure.gene},
          {"value", failure.value},
          {"failed", share_json(failure.failed)},
          {"others", share_json(failure.others)},
          {"stages", failure.stages},
          {"p", failure.p},
          {"seen", failure.seen}};
}

Json json_of(const search::OperatorGain& gain) {
  return {{"operation", gain.operation},
          {"trials", gain.trials},
          {"passed", share_json(gain.passed)},
          {"better", share_json(gain.better)},
          {"cost_s", gain.cost_s},
          {"gain_per_s",
           {{"estimate", gain.per_s}, {"low", gain.per_s_low}, {"high", gain.per_s_high}}}};
}

db::InsightRow row(const char* kind, int place, bool seen, std::string text, Json insight) {
  insight["text"] = text;
  return {kind, place, seen, std::move(text), insight.dump()};
}

}  // namespace

std::vector<db::InsightRow> insight_rows(const search::Insights& insights,
                                         const std::string& time_kind) {
  const std::string prefix = time_kind == "measured" ? "" : time_kind + " ";
  std::vector<db::InsightRow> rows;
  int place = 0;
  for (const search::Effect& effect : insights.effects())
    rows.push_back(row("effect", ++place, effect.seen, words(effect, prefix), json_of(effect)));
  place = 0;
  for (const search::Interaction& interaction : insights.interactions())
    rows.push_back(row("interaction", ++place, interaction.seen, words(interaction, prefix),
                       json_of(interaction)));
  place = 0;
  for (const search::FailureInsight& failure : insights.failures())
    rows.push_back(row("failure", ++place, failure.seen, words(failure), json_of(failure)));
  place = 0;
  for (const search::OperatorGain& gain : insights.operators())
    rows.push_back(
        row("operator", ++place, gain.better.part > 0, words(gain, prefix), json_of(gain)));
  return rows;
}

}  // namespace fa_tune::report
