#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/gate/gate.hpp"
#include "engine/kernel/compile/compiler.hpp"
#include "engine/tuner/task/tuning_task.hpp"
#include "tests/cached_nvrtc.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using Replacements = std::vector<std::pair<std::string, std::string>>;

std::filesystem::path root();

// `text` with each first occurrence replaced. Throws std::logic_error if one is not there exactly
// once: a planted fault whose place has moved must be noticed.
std::string replace(std::string text, const Replacements& replacements);

// The shipped space of that name, its YAML changed by `replacements`.
tuner::TuningTask task(const std::string& name, const Replacements& replacements = {});
// l4.yaml as it is shipped, read once.
const tuner::TuningTask& l4();
// One whose reference, if it wants one, runs in this process.
tuner::TuningTask opened(space::SpaceFile file);

// FA_TUNE_TEST_DEVICE, or the emulator of an L4.
std::string device_under_test();

// All that gates a kernel on one device.
class Bench {
 public:
  // `device` as open_device takes it.
  Bench(const tuner::TuningTask& task, const std::string& device);
  Bench(const tuner::TuningTask& task, std::unique_ptr<device::Device> device);

  device::Device& device() { return *device_; }
  kernel::CompilePool& pool() { return *pool_; }
  gate::TruthCache& truth() { return truth_; }

  // The verdict of a suite on one config of `from`, which may be a template with a planted fault.
  gate::Verdict gate(const kernel::Template& from, const Config& config, const std::string& suite,
                     std::uint64_t seed = 1);

 private:
  const tuner::TuningTask& task_;
  std::unique_ptr<device::Device> device_;
  std::unique_ptr<kernel::CompilePool> pool_;
  gate::TruthCache truth_;
};

}  // namespace fa_tune::test
