#include "engine/report/insight_text.hpp"

#include <cmath>

#include <fmt/core.h>

namespace fa_tune {
namespace {

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

std::string rate(const Share& share) {
  return fmt::format("{:.0f}% ({} of {}, {:.0f}..{:.0f}%)", 100 * share.rate(), share.part,
                     share.of, 100 * share.low, 100 * share.high);
}

}  // namespace

std::string words(const Effect& effect, const std::string& prefix) {
  return fmt::format(
      "{} {} over {}: {}, n={} {}", effect.gene, to_text(effect.value), to_text(effect.against),
      outcome(effect.log_ratio, effect.low, effect.high, effect.seen, prefix), effect.n,
      effect.method == InsightMethod::pairs ? "pairs" : "trials, by the model");
}

std::string words(const Interaction& interaction, const std::string& prefix) {
  const std::string subject =
      fmt::format("{} {} over {} with {} {} over {}", interaction.gene, to_text(interaction.value),
                  to_text(interaction.against), interaction.other_gene,
                  to_text(interaction.other_value), to_text(interaction.other_against));
  const std::string found =
      outcome(interaction.log_ratio, interaction.low, interaction.high, interaction.seen, prefix);
  return fmt::format("{}: {}{}, n={} squares", subject, found,
                     interaction.seen ? " than the two add up to" : "", interaction.n);
}

std::string words(const FailureInsight& failure) {
  std::string stages;
  for (const auto& [stage, count] : failure.stages)
    stages += fmt::format("{}{} {}", stages.empty() ? "; at " : ", ", stage, count);
  return fmt::format("{} {}: {} fail, others {}{}{}", failure.gene, to_text(failure.value),
                     rate(failure.failed), rate(failure.others),
                     failure.seen ? "" : ", may be chance", stages);
}

std::string words(const OperatorGain& gain, const std::string& prefix) {
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

}  // namespace fa_tune
