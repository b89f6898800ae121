#pragma once

#include <functional>

#include "engine/tuner/evolve.hpp"

namespace fa_tune::test {

struct QuietListener : tuner::EvolveListener {
  void on_trial(const db::TrialRow&, const tuner::RunCounts&) override {}
  void on_final(const db::TrialRow&, int, int) override {}
};

// Hands each trial to `each`.
struct WatchingListener : tuner::EvolveListener {
  std::function<void(const db::TrialRow&)> each;
  void on_trial(const db::TrialRow& trial, const tuner::RunCounts&) override {
    if (each) each(trial);
  }
  void on_final(const db::TrialRow&, int, int) override {}
};

}  // namespace fa_tune::test
