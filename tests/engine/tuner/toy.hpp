#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/kernel/compile/compiler.hpp"
#include "engine/tuner/evolve.hpp"
#include "engine/tuner/task/tuning_task.hpp"
#include "tests/engine/tuner/fixture.hpp"

namespace fa_tune::test {

// A task whose trials take a millisecond on the emulator, with every outcome among its configs:
// correct ones of many speeds, wrong ones, ones that do not compile, and duplicates. Its problem is
// Y = 2 X; its target is the shipped profile of an L4. For tests that run a search hundreds of
// times. Its YAML is changed by `replacements`.
tuner::TuningTask toy_project(const Replacements& replacements = {},
                              const Replacements& in_manifest = {});
// The one without replacements, made once.
const tuner::TuningTask& toy();

// Its problem, of whatever kind and settings.
std::unique_ptr<problem::Problem> toy_problem();

// Makes PTX of the toy's source, without a compiler.
std::unique_ptr<kernel::Compiler> toy_compiler();

// The emulator of its target, in this process.
std::unique_ptr<device::Device> toy_device();

// A store of its own, in memory.
struct ScratchStore {
  ScratchFolder folder{memory_folder()};
  db::Store store{folder / "a.db", db::Store::Mode::write};
};

// A run of the toy that has just begun.
db::RunRow toy_run();

// A search of the toy with that number of trials, and its finals.
tuner::EvolveOptions toy_options(int trials);
tuner::EvolveResult search_toy(db::Store& store, const std::vector<device::Device*>& devices,
                               const tuner::EvolveOptions& options,
                               const std::function<void(const db::TrialRow&)>& each = {},
                               const std::atomic<bool>& stop = false);
// What it finds on one device: the lines of the run's fingerprint.
const std::vector<std::string>& toy_fingerprint(int trials);

}  // namespace fa_tune::test
