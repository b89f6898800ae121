#include "engine/tuner/offload/trial_messages.hpp"

#include <limits>

#include <doctest/doctest.h>

#include "engine/util/random.hpp"

namespace fa_tune::test {

using namespace fa_tune::tuner;

namespace {

OffloadedTrial some_trial() {
  OffloadedTrial trial;
  trial.run = TrialRun{.problem_kind = "attention",
                       .problem_settings = {{"causal", true}, {"shape.B", std::int64_t{1}}},
                       .problem_place = "l4.yaml:3:4: ",
                       .roofline = Roofline{1.5, "0.54 GFLOP"},
                       .seeds = {7, 8}};
  kernel::CompileRequest request;
  request.source.text = "a reference";
  request.arch = "sm_90a";
  trial.references = {{request, kernel::CompileFailure{"line 3", "all", false}}};
  KernelImage image;
  image.arch = "sm_89";
  image.kernel = "k";
  image.bytes = std::string("cubin\0", 6);
  trial.images = {image};
  PlannedLaunch planned;
  planned.config.grid = {3, 2, 1};
  planned.arguments = {"Q", "O"};
  planned.maps = {{"q_map", "Q", {64, 128}, 128, {{'D', 0, 1}, {'H', 4, 1}}}};
  planned.steps = {PlannedKernel{1, {}, {"O"}, {}}, PlannedFill{"O", 255}, PlannedCopy{"Q", "O"}};
  planned.workspaces = {{"W", DType::bf16, {2, 3}}};
  planned.scalars = {{"n", DType::i64, std::vector<std::byte>(8)}};
  trial.launches = {{{{"L", std::int64_t{512}}}, "", 0, planned}, {{}, "it is too large", 0, {}}};
  return trial;
}

TrialFindings some_findings() {
  TrialFindings findings;
  findings.stage = "screen";
  findings.outcome = Outcome::passed;
  findings.finding = "passed";
  findings.gate_ms = 12;
  findings.measure_ms = 3;
  findings.gate_cases = 9;
  findings.worst_ratio = 0.5;
  findings.worst_rms = 0.25;
  findings.message = "a note";
  findings.detail_json = "{}";
  findings.screen_us = Interval{4, -std::numeric_limits<double>::infinity(), 5};
  findings.samples_us = {4, 5};
  return findings;
}

}  // namespace

TEST_CASE("offload: trials and findings come as they went") {
  const std::string bytes = encode(some_trial());
  const auto trial = decode_trial(bytes);
  REQUIRE(trial.has_value());
  CHECK(encode(*trial) == bytes);
  CHECK(*trial->run == *some_trial().run);
  CHECK(trial->launches[0].launch == some_trial().launches[0].launch);
  CHECK(trial->images[0].bytes.size() == 6);

  const auto answer = decode_trial_answer(encode(TrialAnswer(some_findings())));
  REQUIRE(answer.has_value());
  FinishedTrial finished;
  take_findings(std::get<TrialFindings>(*answer), finished);
  CHECK(finished.row.screen_time->us.value == 4);
  CHECK(finished.samples_us.size() == 2);
  CHECK(encode(TrialAnswer(findings_of(finished))) == encode(TrialAnswer(some_findings())));
}

TEST_CASE("offload: what makes no sense is refused") {
  const auto refused = [](auto change) {
    TrialFindings findings = some_findings();
    change(findings);
    return !decode_trial_answer(encode(TrialAnswer(findings))).has_value();
  };
  CHECK_FALSE(refused([](TrialFindings&) {}));
  CHECK(refused([](TrialFindings& findings) { findings.stage = "final"; }));
  CHECK(refused([](TrialFindings& findings) { findings.outcome = Outcome::duplicate; }));
  CHECK(refused([](TrialFindings& findings) { findings.screen_us.reset(); }));
  CHECK(refused([](TrialFindings& findings) { findings.screen_us->value = 0; }));
  CHECK(refused([](TrialFindings& findings) { findings.outcome = Outcome::failed; }));
  CHECK(refused([](TrialFindings& findings) { findings.gate_ms = -1; }));
  CHECK(refused([](TrialFindings& findings) {
    findings.measure_ms = std::numeric_limits<double>::quiet_NaN();
  }));

  OffloadedTrial trial = some_trial();
  trial.launches[0].image = 1;
  CHECK_FALSE(decode_trial(encode(trial)).has_value());
  trial.images.clear();
  trial.launches.clear();
  CHECK_FALSE(decode_trial(encode(trial)).has_value());
}

TEST_CASE("offload: any bytes whatever are read or refused") {
  const std::string trial = encode(some_trial());
  const std::string answer = encode(TrialAnswer(some_findings()));
  Random random(1);
  for (int i = 0; i < 20'000; ++i) {
    for (std::string bytes : {trial, answer}) {
      for (std::uint64_t changes = 1 + random.below(4); changes > 0; --changes)
        bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
      if (random.below(4) == 0) bytes.resize(random.below(bytes.size()));
      (void)decode_trial(bytes);
      (void)decode_trial_answer(bytes);
    }
  }
  for (std::size_t length = 0; length < trial.size(); ++length)
    CHECK_FALSE(decode_trial(trial.substr(0, length)).has_value());
}

}  // namespace fa_tune::test
