#include "tests/engine/tuner/fixture.hpp"

#include <stdexcept>

#include "engine/device/local/open.hpp"
#include "engine/space/space_files.hpp"
#include "engine/tuner/task/variant.hpp"
#include "engine/util/environment.hpp"
#include "engine/util/file.hpp"
#include "tests/reference_on_emulator.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::gate;
using namespace fa_tune::kernel;
using namespace fa_tune::problem;
using namespace fa_tune::space;
using namespace fa_tune::tuner;

std::filesystem::path root() { return FA_TUNE_ROOT; }

std::string replace(std::string text, const Replacements& replacements) {
  for (const auto& [from, to] : replacements) {
    const std::size_t place = text.find(from);
    if (place == std::string::npos || text.find(from, place + 1) != std::string::npos)
      throw std::logic_error("not there exactly once: " + from);
    text.replace(place, from.size(), to);
  }
  return text;
}

TuningTask task(const std::string& name, const Replacements& replacements) {
  const auto path = root() / "search_spaces" / name;
  return opened(
      parse_space_file(with_files(replace(read_file(path), replacements), path, root()), path));
}

const TuningTask& l4() {
  static const TuningTask shipped = task("l4.yaml");
  return shipped;
}

TuningTask opened(SpaceFile file) {
  TuningTask task = open_task(std::move(file), root());
  reference_on_emulator(*task.problem, task.target);
  return task;
}

std::string device_under_test() {
  const std::string named = environment("FA_TUNE_TEST_DEVICE");
  return named.empty() ? "emulator:l4" : named;
}

Bench::Bench(const TuningTask& task, const std::string& device)
    : Bench(task, open_device(device, task.target, root())) {}

Bench::Bench(const TuningTask& task, std::unique_ptr<Device> device)
    : task_(task),
      device_(std::move(device)),
      pool_(std::make_unique<CompilePool>(cached_nvrtc(), 2)),
      truth_(*task.problem) {}

Verdict Bench::gate(const Template& from, const Config& config, const std::string& suite,
                    std::uint64_t seed) {
  const auto variant = make_variant(task_, from, config, *pool_, *device_);
  return Gate(*device_, truth_)
      .check(variant->binder(), gate_cases(chosen_suites(*task_.problem, {suite}).at(0), seed));
}

}  // namespace fa_tune::test
