// The spaces of problems that are not attention: their faults are refused, their kernels are right,
// and a search ends.

#include <string_view>

#include <doctest/doctest.h>

#include "engine/device/local/emulated.hpp"
#include "engine/space_file/space_settings.hpp"
#include "engine/tuner/evolve.hpp"
#include "engine/tuner/self_test/fault_file.hpp"
#include "engine/tuner/self_test/self_test.hpp"
#include "engine/tuner/trial/sanitizer_check.hpp"
#include "engine/util/file.hpp"
#include "tests/engine/tuner/fixture.hpp"
#include "tests/engine/tuner/listeners.hpp"
#include "tests/forwarding_device.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;
using namespace fa_tune::device;
using namespace fa_tune::kernel;
using namespace fa_tune::space;
using namespace fa_tune::tuner;

namespace {

using Sort = SelfTestRow::Sort;

struct Example {
  const char* space;
  std::vector<std::string> settings;  // timed shapes that an emulator is done with at once
  double least_gain;                  // of the second preset over the first
};

const Example kExamples[] = {
    {"softmax", {"sizes.rows=16", "sizes.columns=512"}, 1.2},
    {"rmsnorm", {"sizes.rows=16", "sizes.columns=512"}, 1.2},
    {"reduction", {"sizes.n=65536"}, 1.2},
    {"nbody", {"sizes.n=96"}, 1.2},
    {"gemm", {"sizes.m=64", "sizes.n=64", "sizes.k=64"}, 0},
    {"scan", {"sizes.n=16384"}, 1.2},
    {"histogram", {"sizes.n=16384"}, 1.2},
    {"gemm_split_k", {"sizes.m=64", "sizes.n=64", "sizes.k=512"}, 1.2},
    {"convolution", {"sizes.width=48", "sizes.height=32"}, 0},
};

SpaceFile small(const Example& example) {
  return with_settings(load_space_file(example.space, test::root()), example.settings);
}

// Searches the presets; how many times faster than the first the best is predicted to be.
double gain(const Example& example) {
  const TuningTask task = test::opened(small(example));
  const auto device = open_emulator(task.target);
  const test::ScratchFolder folder;
  Store store(folder / "fa.db", Store::Mode::write);
  EvolveOptions options;
  options.trials = 2;  // the presets
  options.jobs = 2;
  options.finals = thorough();  // of a user's problem: custom_test.cpp
  options.final_suites = {"mission"};
  test::QuietListener quiet;
  const std::atomic<bool> stop{false};
  const EvolveResult result = evolve(task, *device, cached_nvrtc(), store, options, quiet, stop);
  REQUIRE(result.counts.passed == 2);
  REQUIRE(result.counts.baseline.has_value());
  REQUIRE(result.counts.best.has_value());
  return result.counts.baseline->screen_time->us.value / result.counts.best->screen_time->us.value;
}

}  // namespace

// `fa-tune gate selftest` plants them all.
TEST_CASE("examples: planted faults are refused, and what they were planted in accepted") {
  std::vector<SpaceFile> files;
  // The dearest is searched below.
  for (const Example& example : kExamples)
    if (thorough() || std::string_view(example.space) != "gemm_split_k")
      files.push_back(small(example));
  const DeviceOpener open = [](const DeviceProfile& target) { return open_emulator(target, 1); };
  const int faults = thorough() ? 18 : 9;
  const SelfTestResult result = self_test(
      files, test::root(), open, cached_nvrtc(), 2, {.seed = 1, .variants = 3, .faults = faults},
      [](const SelfTestResult& until_now, int) {
        const SelfTestRow& row = until_now.rows.back();
        CHECK_MESSAGE(row.passed, to_text(row.sort), " '", row.name, "': ", row.rejection.finding,
                      ", ", row.rejection.message);
      });
  CHECK(result.passed());
  CHECK(result.count(Sort::fault) + result.count(Sort::cheat) == faults);
  CHECK(result.count(Sort::variant) == 3);
}

TEST_CASE("examples: what a space comes to is faster than what it begins with") {
  for (const Example& example : kExamples) {
    if (example.least_gain == 0) continue;  // the model does not say so at a shape this small
    CAPTURE(example.space);
    CHECK(gain(example) > example.least_gain);
  }
}

namespace {

// A device that says of itself what a GPU would: nothing checks there.
class Unchecked final : public test::ForwardingDevice {
 public:
  explicit Unchecked(std::unique_ptr<Device> inner)
      : ForwardingDevice(std::move(inner)), info_(ForwardingDevice::info()) {
    info_.checks = false;
  }
  const DeviceInfo& info() const override { return info_; }

 private:
  DeviceInfo info_;
};

}  // namespace

TEST_CASE("examples: what a GPU lets by is seen where it is watched") {
  const TuningTask task = test::opened(small(std::end(kExamples)[-1]));
  const Unchecked device(open_emulator(task.target, 1));
  CompilePool pool(cached_nvrtc(), 1);
  const EmulatorOpener emulator = [](const DeviceProfile& profile, std::uint64_t instructions) {
    return open_emulator(profile, 1, instructions);
  };
  SanitizerCheck check(task, device, pool, emulator, 1);
  REQUIRE(check.enabled());
  const auto manifest = test::root() / "kernel_templates" / "convolution" / "tile.yaml";
  const auto path = fault_file_of(manifest);
  for (const PlantedFault& fault : parse_fault_file(read_file(path), path, "tile")) {
    if (fault.name != "reads beyond the image") continue;
    const auto seen = check.start(plant(task.templates[0], fault), fault.config).get();
    REQUIRE(seen.rejection);
    CHECK_MESSAGE(test::has(seen.rejection->message, "past the end of"), seen.rejection->message);
    // Where next to nothing may be executed, there is nothing to say.
    SanitizerCheck hurried(task, device, pool, emulator, 1, 10);
    const SanitizerResult glimpse =
        hurried.start(plant(task.templates[0], fault), fault.config).get();
    CHECK_FALSE(glimpse.rejection);
    CHECK_MESSAGE(test::has(glimpse.text(), "unfinished"), glimpse.text());
  }
  const SanitizerResult right =
      check.start(task.templates[0], task.space.presets()[0].config).get();
  CHECK_FALSE(right.rejection);
  CHECK(right.whole());
}

}  // namespace fa_tune::test
