#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "engine/kernel/compile/compiler.hpp"
#include "engine/model/kernel_image.hpp"
#include "engine/tuner/task/roofline.hpp"
#include "engine/tuner/trial/trial.hpp"
#include "engine/yaml/value.hpp"

// What the two ends of offloaded trials say to each other: the work and its answer, as texts for
// Device::offload. Both are the same build of this program.
namespace fa_tune::tuner {

// What all trials of a run have in common.
struct TrialRun {
  std::string problem_kind;
  std::vector<std::pair<std::string, Value>> problem_settings;
  std::string problem_place;  // in the space's file, for messages: make_problem()
  std::optional<Roofline> roofline;
  TrialSeeds seeds;

  friend bool operator==(const TrialRun&, const TrialRun&) = default;
};

// How a kernel is launched at one of the shapes that it is gated or timed at.
struct OffloadedLaunch {
  Constants shape;
  std::string why_not;    // if this is not empty it cannot be, and the rest says nothing
  std::size_t image = 0;  // of OffloadedTrial::images
  PlannedLaunch launch;
};

// What a reference kernel's source was compiled to.
struct CompiledReference {
  kernel::CompileRequest request;
  std::variant<kernel::Compiled, kernel::CompileFailure> outcome;
};

// A trial that has been compiled.
struct OffloadedTrial {
  std::optional<TrialRun> run;  // the first trial of a run brings it
  std::vector<CompiledReference> references;
  std::vector<KernelImage> images;  // each once; the first is that of the timed shape
  std::vector<OffloadedLaunch> launches;
};

// The answer: what GateAndScreen has found.
struct TrialFindings {
  std::string stage;
  Outcome outcome = Outcome::failed;
  std::string finding;
  std::string message;
  double gate_ms = 0;
  double measure_ms = 0;
  int gate_cases = 0;
  double worst_ratio = 0;
  double worst_rms = 0;
  std::optional<Interval> screen_us;
  std::string detail_json;
  std::vector<double> samples_us;
};
// Or: the same trial again, with this reference kernel compiled.
struct ReferenceWanted {
  kernel::CompileRequest request;
};
using TrialAnswer = std::variant<TrialFindings, ReferenceWanted>;

std::string encode(const OffloadedTrial& trial);
std::string encode(const TrialAnswer& answer);
// The errors are one line.
std::expected<OffloadedTrial, std::string> decode_trial(std::string_view bytes);
std::expected<TrialAnswer, std::string> decode_trial_answer(std::string_view bytes);

TrialFindings findings_of(const FinishedTrial& trial);
// Into the row of a trial that was compiled.
void take_findings(TrialFindings findings, FinishedTrial& trial);

}  // namespace fa_tune::tuner
