// Trials that are offloaded: what they come to is what it is where the engine asks the device itself.
#include <atomic>
#include <span>

#include <doctest/doctest.h>

#include "engine/device/local/open.hpp"
#include "engine/report/recorded_run.hpp"
#include "engine/tuner/evolve.hpp"
#include "engine/tuner/offload/trial_host.hpp"
#include "engine/tuner/offload/trial_messages.hpp"
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
  bool lost() const override { return !lost_because_.empty(); }
  std::string lost_because() const override { return lost_because_; }
  bool ready() override { return !lost(); }
  bool apart() const override { return true; }
  std::expected<void, Fault> offload(const std::string& work, const TakeAnswer& take) override {
    ++offloaded;
    const auto taken = take(lie ? lie(offloaded) : service_->answer(work));
    if (taken) return {};
    lost_because_ = taken.error();
    throw DeviceGone(lost_because_);
  }
  std::expected<KernelHandle, Fault> load(const KernelImage& image) override {
    ++loads;
    return ForwardingDevice::load(image);
  }

  int offloaded = 0;
  int loads = 0;
  std::function<std::string(int asked)> lie;  // of a liar: what it says instead

 private:
  std::string lost_because_;
  std::unique_ptr<OffloadService> service_;
};

std::vector<std::string> search(const TuningTask& task, kernel::Compiler& compiler,
                                const std::vector<Device*>& devices, int trials,
                                bool finals = false) {
  ScratchStore kept;
  EvolveOptions options = toy_options(trials);
  options.finals = finals;
  QuietListener listener;
  const std::atomic<bool> stop{false};
  evolve(task, devices, compiler, kept.store, options, listener, stop);
  return run_fingerprint_lines(kept.store, 1);
}

}  // namespace

TEST_CASE("offload: a search is the same, and asks nothing else of the device") {
  const auto compiler = toy_compiler();
  const auto alone = emulator(toy());
  const auto expected = search(toy(), *compiler, {alone.get()}, 40);
  int opened = 0;
  TrialHost host([&](const std::string&) { return ++opened, emulator(toy()); },
                 [](const auto&...) { return toy_problem(); });
  Beside device(toy(), host);
  CHECK(search(toy(), *compiler, {&device}, 40) == expected);
  CHECK(device.loads == 0);
  CHECK(device.offloaded > 10);
  CHECK(opened == 0);
  // Finals are the device's, as everywhere.
  const auto whole = search(toy(), *compiler, {alone.get()}, 10, /*finals=*/true);
  CHECK(search(toy(), *compiler, {&device}, 10, /*finals=*/true) == whole);
  CHECK(device.loads > 0);
}

TEST_CASE("offload: a reference kernel is compiled by the engine and run beside the device") {
  const CustomSpace place;
  const TuningTask task = place.task();
  kernel::Compiler& compiler = cached_nvrtc();
  const auto alone = emulator(task);
  const auto expected = search(task, compiler, {alone.get()}, 4);
  std::string opened;
  TrialHost host([&](const std::string& name) { return opened = name, emulator(task); });
  Beside first(task, host);
  CHECK(search(task, compiler, {&first}, 4) == expected);
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
  CHECK(search(task, cached_nvrtc(), {&device}, 2).size() == 2);
  CHECK(device.offloaded == 0);
}

TEST_CASE("offload: who says nonsense of a trial is lost, and the trial goes elsewhere") {
  const auto compiler = toy_compiler();
  const auto alone = emulator(toy());
  const auto expected = search(toy(), *compiler, {alone.get()}, 12);
  TrialHost host([&](const std::string&) { return emulator(toy()); },
                 [](const auto&...) { return toy_problem(); });
  Beside liar(toy(), host);
  liar.lie = [](int) { return "nonsense"; };
  Beside honest(toy(), host);
  CHECK(search(toy(), *compiler, {&liar, &honest}, 12) == expected);
  // Whether the other left it a trial is chance.
  CHECK(liar.offloaded <= 1);

  Beside alone_with_lies(toy(), host);
  alone_with_lies.lie = liar.lie;
  CHECK(search(toy(), *compiler, {&alone_with_lies}, 12).empty());
  CHECK(alone_with_lies.offloaded == 1);
  CHECK(alone_with_lies.lost_because() == "it answered a trial with bytes that are no findings");
}

TEST_CASE("offload: who asks for reference kernels without end is lost") {
  const auto wants = [](const std::string& source) {
    return encode(TrialAnswer(ReferenceWanted{{{source, "plain", ""}, "sm_89", {}, {}}}));
  };
  const auto lost_because = [](const TuningTask& task, kernel::Compiler& compiler,
                               const std::function<std::string(int)>& lie, int& asked) {
    TrialHost host([&](const std::string&) { return emulator(task); },
                   [](const auto&...) { return toy_problem(); });
    Beside liar(task, host);
    liar.lie = [&](int now) { return now > 100 ? "that is enough" : lie(now); };
    CHECK(search(task, compiler, {&liar}, 4).empty());
    asked = liar.offloaded;
    return liar.lost_because();
  };
  const CustomSpace place;
  const TuningTask task = place.task();
  int asked = 0;
  CHECK(lost_because(
            task, cached_nvrtc(), [&](int) { return wants("nothing"); }, asked) ==
        "it asks again for a reference kernel that it has");
  CHECK(asked == 2);
  const std::string kTooMany = "it asks for more reference kernels than its trials have";
  CHECK(lost_because(
            task, cached_nvrtc(), [&](int asked_now) { return wants(std::to_string(asked_now)); },
            asked) == kTooMany);
  // Two for each of three shapes.
  CHECK(asked == 7);
  // A problem that has none.
  CHECK(lost_because(
            toy(), *toy_compiler(), [&](int) { return wants("nothing"); }, asked) == kTooMany);
  CHECK(asked == 1);
}

TEST_CASE("offload: a service that is asked nonsense says so") {
  TrialHost host([&](const std::string&) { return emulator(toy()); });
  const auto device = emulator(toy());
  const auto service = host.serve(*device, "emulator:l4");
  CHECK_THROWS_WITH(service->answer("nonsense"), "bytes that are no trial");
}

}  // namespace fa_tune::test
