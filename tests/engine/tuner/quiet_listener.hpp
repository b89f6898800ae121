#pragma once

#include "engine/tuner/evolve.hpp"

namespace fa_tune::test {

struct QuietListener : EvolveListener {
  void on_trial(const TrialRow&, const RunCounts&) override {}
  void on_final(const TrialRow&, int, int) override {}
};

}  // namespace fa_tune::test
