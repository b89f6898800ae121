#pragma once

#include "engine/tuner/evolve.hpp"

namespace fa_tune::test {

struct QuietListener : tuner::EvolveListener {
  void on_trial(const db::TrialRow&, const tuner::RunCounts&) override {}
  void on_final(const db::TrialRow&, int, int) override {}
};

}  // namespace fa_tune::test
