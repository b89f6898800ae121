// Trials that are offloaded: what they come to is what it is where the engine asks the device itself.
#include <atomic>
#include <span>

#include <doctest/doctest.h>

#include "engine/device/local/open.hpp"
#include "engine/report/recorded_run.hpp"
#include "engine/tuner/evolve.hpp"
#include "engine/tuner/offload/trial_host.hpp"
#include "engine/util/error.hpp"
#include "engine/util/npy.hpp"
#include "tests/engine/problem/custom/custom_space.hpp"
#include "tests/engine/tuner/fixture.hpp"
#include "tests/engine/tuner/listeners.hpp"
#include "tests/engine/tuner/toy.hpp"
#include "tests/forwarding_device.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;
using namespace fa_tune::device;
using namespace fa_tune::problem;
using namespace fa_tune::report;
using namespace fa_tune::tuner;

namespace {

std::unique_ptr<Device> emulator(const TuningTask& task) {
  return open_device("emulator:l4", task.target, root());
}

// What its owner asks of it, but for offloaded work, is counted.
class Beside final : public ForwardingDevice {
 public:
  Beside(const TuningTask& task, TrialHost& host)
      : ForwardingDevice(emulator(task)), service_(host.serve(inner(), "emulator:l4")) {}

  bool offloads() const override { return true; }
  std::expected<std::string, Fault> offload(const std::string& work) override {
    ++offloaded;
    if (!answer_given.empty()) return answer_given;
    return service_->answer(work);
  }
  std::expected<KernelHandle, Fault> load(const KernelImage& image) override {
    ++loads;
    return ForwardingDevice::load(image);
  }

  int offloaded = 0;
  int loads = 0;
  std::string answer_given;  // of a liar

 private:
  std::unique_ptr<OffloadService> service_;
};

std::vector<std::string> search(const TuningTask& task, kernel::Compiler& compiler, Device& device,
                                int trials, bool finals = true) {
  ScratchStore kept;
  EvolveOptions options = toy_options(trials);
  options.finals = finals;
  QuietListener listener;
  const std::atomic<bool> stop{false};
  evolve(task, device, compiler, kept.store, options, listener, stop);
  return run_fingerprint_lines(kept.store, 1);
}

}  // namespace

TEST_CASE("offload: a search is the same, and asks nothing else of the device") {
  const auto compiler = toy_compiler();
  const auto alone = emulator(toy());
  const auto expected = search(toy(), *compiler, *alone, 40, false);
  int opened = 0;
  TrialHost host([&](const std::string&) { return ++opened, emulator(toy()); },
                 [](const auto&...) { return toy_problem(); });
  Beside device(toy(), host);
  CHECK(search(toy(), *compiler, device, 40, false) == expected);
  CHECK(device.loads == 0);
  CHECK(device.offloaded > 10);
  CHECK(opened == 0);
  // Finals are the device's, as everywhere.
  const auto whole = search(toy(), *compiler, *alone, 10);
  CHECK(search(toy(), *compiler, device, 10) == whole);
  CHECK(device.loads > 0);
}

TEST_CASE("offload: a reference kernel is compiled by the engine and run beside the device") {
  const CustomSpace place;
  const TuningTask task = place.task();
  kernel::Compiler& compiler = cached_nvrtc();
  const auto alone = emulator(task);
  const auto expected = search(task, compiler, *alone, 4, false);
  std::string opened;
  TrialHost host([&](const std::string& name) { return opened = name, emulator(task); });
  Beside first(task, host);
  CHECK(search(task, compiler, first, 4, false) == expected);
  CHECK(opened == "emulator:l4");
  const int asked = first.offloaded;
  CHECK(asked > 4);
  CHECK(first.loads == 1);  // the plain kernel, which is timed before the search
}

TEST_CASE("offload: where data are in files of this machine's, trials are not offloaded") {
  const CustomSpace place;
  const std::vector<float> x(777, 1.5F);
  write_text(place.folder() / "x.npy", npy_text("<f4", {777}, std::as_bytes(std::span(x))));
  const TuningTask task = place.task({{"sizes: [{n: 5000}, {n: 1}, {n: 777}]", "sizes: {n: 777}"},
                                      {"{name: x, type: f32, shape: [n]}",
                                       "{name: x, type: f32, shape: [n], fill: {file: x.npy}}"}});
  TrialHost host([&](const std::string&) { return emulator(task); });
  Beside device(task, host);
  CHECK(search(task, cached_nvrtc(), device, 2, false).size() == 2);
  CHECK(device.offloaded == 0);
}

TEST_CASE("offload: answers that make no sense end the run with one line") {
  const auto compiler = toy_compiler();
  TrialHost host([&](const std::string&) { return emulator(toy()); },
                 [](const auto&...) { return toy_problem(); });
  Beside device(toy(), host);
  device.answer_given = "nonsense";
  CHECK_THROWS_WITH_AS(search(toy(), *compiler, device, 4, false),
                       "emulator:l4 answered with bytes that are no findings", MachineError);
}

TEST_CASE("offload: a service that is asked nonsense says so") {
  TrialHost host([&](const std::string&) { return emulator(toy()); });
  const auto device = emulator(toy());
  const auto service = host.serve(*device, "emulator:l4");
  CHECK_THROWS_WITH(service->answer("nonsense"), "bytes that are no trial");
}

}  // namespace fa_tune::test
