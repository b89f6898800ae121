#include "engine/tuner/offload/trial_messages.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/kernel/compile/compile_cache.hpp"
#include "engine/model/kernel_fields.hpp"
#include "engine/util/serializer.hpp"

// The serializer finds these in its own namespace.
namespace fa_tune::wire {

constexpr Outcome last_of(const Getter&, Outcome) { return kLastOutcome; }
void fields(auto& archive, Interval& interval) {
  archive(interval.value, interval.low, interval.high);
}
void fields(auto& archive, tuner::Roofline& roofline) { archive(roofline.us, roofline.because); }
void fields(auto& archive, tuner::TrialSeeds& seeds) { archive(seeds.gate, seeds.timing); }
void fields(auto& archive, tuner::TrialRun& run) {
  archive(run.problem_kind, run.problem_settings, run.problem_place, run.roofline, run.seeds);
}
void fields(auto& archive, tuner::OffloadedLaunch& launch) {
  archive(launch.shape, launch.why_not, launch.image, launch.launch);
}
void fields(auto& archive, tuner::CompiledReference& reference) {
  archive(reference.request, reference.outcome);
}
void fields(auto& archive, tuner::OffloadedTrial& trial) {
  archive(trial.run, trial.references, trial.images, trial.launches);
}
void fields(auto& archive, tuner::TrialFindings& findings) {
  archive(findings.stage, findings.outcome, findings.finding, findings.message, findings.gate_ms,
          findings.measure_ms, findings.gate_cases, findings.worst_ratio, findings.worst_rms,
          findings.screen_us, findings.detail_json, findings.samples_us);
}
void fields(auto& archive, tuner::ReferenceWanted& wanted) { archive(wanted.request); }

}  // namespace fa_tune::wire

namespace fa_tune::tuner {
namespace {

template <typename Message>
std::string bytes_of(const Message& message) {
  wire::Putter putter;
  putter(message);
  return putter.take();
}

template <typename Message>
std::optional<Message> message_of(std::string_view bytes) {
  wire::Getter getter(bytes);
  Message message;
  getter(message);
  return getter.good() ? std::optional(std::move(message)) : std::nullopt;
}

bool is_time(double value) { return std::isfinite(value) && value >= 0; }

// Whether a trial may end so.
bool make_sense(const TrialFindings& findings) {
  constexpr std::array<std::string_view, 3> kStages = {"launch", "gate", "screen"};
  if (std::ranges::find(kStages, findings.stage) == kStages.end()) return false;
  if (!is_time(findings.gate_ms) || !is_time(findings.measure_ms) || findings.gate_cases < 0)
    return false;
  if (findings.outcome == Outcome::duplicate) return false;
  const bool passed = findings.outcome == Outcome::passed;
  if (passed != findings.screen_us.has_value()) return false;
  return !passed || (std::isfinite(findings.screen_us->value) && findings.screen_us->value > 0);
}

}  // namespace

std::string encode(const OffloadedTrial& trial) { return bytes_of(trial); }
std::string encode(const TrialAnswer& answer) { return bytes_of(answer); }

std::expected<OffloadedTrial, std::string> decode_trial(std::string_view bytes) {
  auto trial = message_of<OffloadedTrial>(bytes);
  if (!trial) return std::unexpected("bytes that are no trial");
  const auto has_image = [&](const OffloadedLaunch& launch) {
    return !launch.why_not.empty() || launch.image < trial->images.size();
  };
  if (trial->images.empty() || !std::ranges::all_of(trial->launches, has_image))
    return std::unexpected("a trial without its kernel");
  return std::move(*trial);
}

std::expected<TrialAnswer, std::string> decode_trial_answer(std::string_view bytes) {
  auto answer = message_of<TrialAnswer>(bytes);
  if (!answer) return std::unexpected("bytes that are no findings");
  const auto* findings = std::get_if<TrialFindings>(&*answer);
  if (findings != nullptr && !make_sense(*findings))
    return std::unexpected("findings that make no sense");
  return std::move(*answer);
}

TrialFindings findings_of(const FinishedTrial& trial) {
  const db::TrialRow& row = trial.row;
  TrialFindings findings;
  findings.stage = row.stage;
  findings.outcome = row.outcome;
  findings.finding = row.finding;
  findings.message = row.message;
  findings.gate_ms = row.gate_ms;
  findings.measure_ms = row.measure_ms;
  findings.gate_cases = row.gate_cases;
  findings.worst_ratio = row.worst_ratio;
  findings.worst_rms = row.worst_rms;
  if (row.screen_time) findings.screen_us = row.screen_time->us;
  findings.detail_json = row.detail_json;
  findings.samples_us = trial.samples_us;
  return findings;
}

void take_findings(TrialFindings findings, FinishedTrial& trial) {
  db::TrialRow& row = trial.row;
  row.stage = std::move(findings.stage);
  row.outcome = findings.outcome;
  row.finding = std::move(findings.finding);
  row.message = std::move(findings.message);
  row.gate_ms = findings.gate_ms;
  row.measure_ms = findings.measure_ms;
  row.gate_cases = findings.gate_cases;
  row.worst_ratio = findings.worst_ratio;
  row.worst_rms = findings.worst_rms;
  row.screen_time.reset();
  if (findings.screen_us) row.screen_time = db::ScreenTime{*findings.screen_us};
  row.detail_json = std::move(findings.detail_json);
  trial.samples_us = std::move(findings.samples_us);
}

}  // namespace fa_tune::tuner
