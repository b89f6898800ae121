#pragma once

#include <memory>

#include "engine/kernel/compile/compiler.hpp"
#include "engine/tuner/task/tuning_task.hpp"
#include "tests/engine/tuner/fixture.hpp"

namespace fa_tune::test {

// A task whose trials take a millisecond on the emulator, with every outcome among its configs:
// correct ones of many speeds, wrong ones, ones that do not compile, and duplicates. Its problem is
// Y = 2 X; its target is the shipped profile of an L4. For tests that run a search hundreds of
// times. Its YAML is changed by `replacements`.
tuner::TuningTask toy_project(const Replacements& replacements = {});
// The one without replacements, made once.
const tuner::TuningTask& toy();

// Its problem, of whatever kind and settings.
std::unique_ptr<problem::Problem> toy_problem();

// Makes PTX of the toy's source, without a compiler.
std::unique_ptr<kernel::Compiler> toy_compiler();

}  // namespace fa_tune::test
