#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "tests/engine/tuner/fixture.hpp"

namespace fa_tune::test {

// A template's config for Hopper, from which cases differ in a few genes.
inline const std::string kWgmma =
    R"({"template":"wgmma","CONSUMERS":2,"BLOCK_N":32,"STAGES":2,"OVERLAP":"ahead","PV_PARTS":1,)"
    R"("PING_PONG":false,"RESCALE":"always","EXP_POLYNOMIAL":0,"Q_PLACE":"in_shared","Q_STAGES":1,)"
    R"("CARRY":false,"O_PLACE":"over_q","HEAD_GROUP":1,"CLUSTER":1,"BLOCKS":1,"PERSISTENT":true,)"
    R"("KEY_GROUPS":1})";

// Settings of attention with every feature.
inline const std::string kAllFeatures =
    "  dtype: bf16\n  layout: BSHD\n  lse: true\n  causal: true\n"
    "  causal_alignment: bottom_right\n  window: [100, -1]\n  softcap: 20.5\n  alibi: true";

// A task and all that gates its kernels.
struct TaskBench {
  TaskBench(tuner::TuningTask of, std::unique_ptr<device::Device> device)
      : task(std::move(of)), bench(task, std::move(device)) {}
  TaskBench(tuner::TuningTask of, const std::string& device)
      : task(std::move(of)), bench(task, device) {}

  gate::Verdict accept(const Config& config, const std::string& suite = "quick") {
    CAPTURE(task.problem->describe(task.problem->shape()));
    CAPTURE(config.to_json());
    CHECK(task.space.index_of(config).has_value());
    gate::Verdict verdict = bench.gate(task.template_of(config), config, suite);
    CHECK_MESSAGE(verdict.passed(), verdict.finding, ": ", verdict.message, " at ", verdict.where);
    return verdict;
  }

  // The verdict on the config's template with `fault` in its text. In a usual run that is asked for
  // every third fault alone; that the others can be planted is seen all the same.
  std::optional<gate::Verdict> gate_fault(const Config& config, const Replacements& fault) {
    const kernel::Template& sound = task.template_of(config);
    const auto faulty = kernel::Template::parse(sound.name(), sound.manifest_text(),
                                                replace(sound.cuda_text(), fault), "planted.yaml");
    if (faults_++ % 3 != 0 && !thorough()) return std::nullopt;
    return bench.gate(faulty, config, "quick");
  }
  // Refused, with these words in what is said of it.
  void refuse(const std::string& name, const std::string& reason, const Config& config,
              const Replacements& fault) {
    const auto verdict = gate_fault(config, fault);
    if (!verdict) return;
    const std::string said = verdict->finding + ", " + verdict->message;
    CHECK_MESSAGE(said.find(reason) != std::string::npos, name, ": ", said);
  }

  tuner::TuningTask task;
  Bench bench;

 private:
  int faults_ = 0;
};

}  // namespace fa_tune::test
