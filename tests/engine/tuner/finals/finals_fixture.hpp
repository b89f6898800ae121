#pragma once

#include <algorithm>
#include <csignal>
#include <set>

#include <doctest/doctest.h>
#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include "db/check.hpp"
#include "engine/device/local/open.hpp"
#include "engine/measure/process_series.hpp"
#include "engine/measure/timing.hpp"
#include "engine/report/held_pick.hpp"
#include "engine/report/recorded_run.hpp"
#include "engine/tuner/finals/final_places.hpp"
#include "engine/tuner/finals/finalists.hpp"
#include "engine/tuner/finals/finals.hpp"
#include "engine/tuner/loop/warm_start.hpp"
#include "engine/util/error.hpp"
#include "engine/util/fault_point.hpp"
#include "tests/engine/tuner/fixture.hpp"
#include "tests/engine/tuner/listeners.hpp"
#include "tests/engine/tuner/measuring_emulator.hpp"
#include "tests/engine/tuner/toy.hpp"

namespace fa_tune::test {

// Of finals: one to be gated in, and those of the race.
constexpr int kRenewals = 1 + measure::ProcessSeries::kProcesses;

// The more a toy works, the longer its image. By a little: near enough for the finals.
inline double by_work(const KernelImage& image) {
  return 60 + static_cast<double>(image.bytes.size()) / 10000;
}
// By much.
inline double far_apart(const KernelImage& image) {
  return static_cast<double>(image.bytes.size()) / 100;
}

inline std::unique_ptr<test::MeasuringEmulator> device_of(test::MeasuringEmulator::Truth truth) {
  return std::make_unique<test::MeasuringEmulator>(
      device::open_device("emulator:l4", toy().target, test::root()), std::move(truth));
}

inline tuner::EvolveResult run(db::Store& store, device::Device& device, int trials,
                               std::optional<std::int64_t> resume = {},
                               const std::atomic<bool>& stop = false, bool finals = true) {
  const auto compiler = test::toy_compiler();
  tuner::EvolveOptions options;
  options.trials = trials;
  options.seed = 3;
  options.jobs = 2;
  options.resume = resume;
  options.finals = finals;
  test::QuietListener listener;
  return tuner::evolve(toy(), device, *compiler, store, options, listener, stop);
}

inline std::vector<std::int64_t> ids(const auto& rows) {
  std::vector<std::int64_t> list;
  for (const db::FinalRow& row : rows) list.push_back(row.trial);
  return list;
}

// Begins a run on a clock without noise, or goes on with it; dies at the fault point, if one is
// named.
inline int outcome_of_child(const std::filesystem::path& database, const std::string& dies_at) {
  const pid_t child = fork();
  if (child == 0) {
    if (!dies_at.empty()) arm_fault_point(dies_at);
    db::Store store(database, db::Store::Mode::write);
    const auto device = device_of(by_work);
    device->noise = 0;
    const auto runs = store.runs();
    run(store, *device, 30, runs.empty() ? std::nullopt : std::optional(runs.front().id));
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

// All that finals leave behind, figures included.
inline std::string found(const std::filesystem::path& database) {
  const db::Store store(database, db::Store::Mode::read);
  std::string text = store.run(1)->state + " " + report::run_fingerprint(store, 1);
  for (const db::FinalRow& row : store.finals(1))
    text += fmt::format(" {}.{}: {} {} {}", row.race, row.place, row.trial, row.time.us.value,
                        row.cold->us.value);
  return text;
}

inline void check_sound(const std::filesystem::path& database) {
  for (const std::string& defect : db::check_database(database).defects) FAIL_CHECK(defect);
}

}  // namespace fa_tune::test
