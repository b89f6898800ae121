// A search on several devices at once: it finds what it finds on one, whatever becomes of the
// devices.

#include "engine/tuner/loop/device_executor.hpp"

#include <chrono>
#include <latch>
#include <mutex>
#include <set>
#include <thread>

#include <doctest/doctest.h>

#include "engine/device/local/open.hpp"
#include "engine/report/recorded_run.hpp"
#include "engine/tuner/evolve.hpp"
#include "engine/tuner/loop/run_options.hpp"
#include "engine/util/error.hpp"
#include "tests/engine/tuner/fixture.hpp"
#include "tests/engine/tuner/listeners.hpp"
#include "tests/engine/tuner/toy.hpp"
#include "tests/forwarding_device.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;
using namespace fa_tune::device;
using namespace fa_tune::kernel;
using namespace fa_tune::report;
using namespace fa_tune::tuner;

namespace {

constexpr int kTrials = 60;

// An emulator that does as a test says before each launch.
class Staged : public test::ForwardingDevice {
 public:
  // Gives what the launch of this image is to end with; nothing: it runs.
  using Script = std::function<std::optional<Fault>(Staged&, const std::string& image)>;

  explicit Staged(Script script = {}, const std::string& name = "emulator:l4")
      : ForwardingDevice(open_device(name, toy().target, test::root())),
        script_(std::move(script)) {}

  bool lost_now = false;
  bool lost_when_ready = false;  // found out before a try, as a worker that does not start
  std::vector<Fault> died;       // as a process of its own would

  bool lost() const override { return lost_now; }
  bool apart() const override { return true; }
  std::span<const Fault> deaths() const override { return died; }
  bool ready() override {
    lost_now = lost_now || lost_when_ready;
    return !lost_now;
  }
  std::expected<KernelHandle, Fault> load(const KernelImage& image) override {
    auto handle = inner().load(image);
    if (handle) images_[*handle] = image.bytes;
    return handle;
  }
  std::expected<void, Fault> launch(const Launch& launch) override {
    if (script_)
      if (auto fault = script_(*this, images_.at(launch.kernel))) return std::unexpected(*fault);
    return inner().launch(launch);
  }

 private:
  Script script_;
  std::map<KernelHandle, std::string> images_;
};

Fault dies(Staged& device) {
  device.died.push_back({FaultKind::died, "launch: signal 11"});
  return device.died.back();
}

// One on which all launches die, and that notes whether two threads are at it.
class Visited : public Staged {
 public:
  Visited()
      : Staged([](Staged& device, const std::string&) { return std::optional(dies(device)); }) {}

  std::expected<KernelHandle, Fault> load(const KernelImage& image) override {
    const Visit visit(*this);
    return Staged::load(image);
  }
  std::optional<double> joules() override {
    const Visit visit(*this);
    return 1;
  }
  std::atomic<bool> shared{false};

 private:
  struct Visit {
    explicit Visit(Visited& at) : device(at) {
      if (device.inside_++ > 0) device.shared = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    ~Visit() { --device.inside_; }
    Visited& device;
  };
  std::atomic<int> inside_{0};
};

EvolveOptions toy_trials(int count = kTrials) {
  EvolveOptions options = toy_options(count);
  options.jobs = 3;
  return options;
}

EvolveResult search_until(Store& store, const std::vector<Device*>& devices,
                          const EvolveOptions& options, int stop_after) {
  std::atomic<bool> stop{false};
  int done = 0;
  return search_toy(
      store, devices, options, [&](const TrialRow&) { stop = stop || ++done == stop_after; }, stop);
}

// The longest a test waits for what is bound to happen.
bool comes(std::latch& latch) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::seconds(60);
  while (!latch.try_wait() && Clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return latch.try_wait();
}

}  // namespace

TEST_CASE("a search on several devices finds what it finds on one, byte for byte") {
  REQUIRE(toy_fingerprint(kTrials).size() == kTrials);
  for (const std::size_t executor : {2, 3, 5}) {
    CAPTURE(executor);
    ScratchStore kept;
    std::vector<std::unique_ptr<Staged>> devices;
    std::vector<Device*> pointers;
    pointers.reserve(executor);
    for (std::size_t i = 0; i < executor; ++i)
      pointers.push_back(devices.emplace_back(std::make_unique<Staged>()).get());
    const EvolveResult result = search_toy(kept.store, pointers, toy_trials());
    CHECK(run_fingerprint_lines(kept.store, 1) == toy_fingerprint(kTrials));
    CHECK(result.breakdown.devices.size() == executor);
    CHECK(result.breakdown.trials == kTrials);
  }
}

TEST_CASE("devices work at the same time, and trials say which one had them") {
  ScratchStore kept;
  std::latch both(2);
  std::atomic<bool> met{false};
  // Neither gets on with its first launch before the other has come to its own.
  const auto meeting = [&] {
    return [&, first = true](Staged&, const std::string&) mutable -> std::optional<Fault> {
      if (!first) return std::nullopt;
      first = false;
      both.count_down();
      met = comes(both);
      return std::nullopt;
    };
  };
  Staged a(meeting()), b(meeting());
  search_toy(kept.store, {&a, &b}, toy_trials());
  CHECK(met);
  std::set<std::string> executor;
  for (const TrialRow& trial : kept.store.trials(1)) {
    CHECK(trial.at_ms.has_value());
    const bool ran = trial.stage != "compile" && trial.outcome != Outcome::duplicate;
    CHECK(ran == !trial.device.empty());
    if (ran) executor.insert(trial.device);
  }
  CHECK(executor == std::set<std::string>{"emulator:l4", "emulator:l4#2"});
  CHECK(kept.store.run(1)->device == "emulator:l4");
  REQUIRE(kept.store.sessions(1).size() == 1);
  CHECK(kept.store.sessions(1).front().devices_json == R"(["emulator:l4","emulator:l4#2"])");
}

TEST_CASE("a device that is lost is set aside, and the others go on with its trial") {
  ScratchStore kept;
  int launches = 0;
  // Its process dies, and no other one starts.
  Staged breaks([&](Staged& device, const std::string&) -> std::optional<Fault> {
    if (++launches < 40) return std::nullopt;
    device.lost_when_ready = true;
    return dies(device);
  });
  Staged lasts;
  const EvolveResult result = search_toy(kept.store, {&breaks, &lasts}, toy_trials());
  CHECK_FALSE(result.device_lost);
  CHECK(run_fingerprint_lines(kept.store, 1) == toy_fingerprint(kTrials));
  CHECK(kept.store.run(1)->state == "done");
}

TEST_CASE("a run whose last device is lost goes on where it was, with as many as there are") {
  ScratchStore kept;
  {
    // Never two over the same kernel: that one would be charged.
    std::mutex mutex;
    std::string last;
    const auto after = [&](int most) {
      return [&, most, launches = 0](Staged& device,
                                     const std::string& image) mutable -> std::optional<Fault> {
        const std::lock_guard lock(mutex);
        if (++launches < most || image == last) return std::nullopt;
        last = image;
        device.lost_when_ready = true;
        return dies(device);
      };
    };
    Staged a(after(60)), b(after(90));
    const EvolveResult result = search_toy(kept.store, {&a, &b}, toy_trials());
    CHECK(result.device_lost);
    CHECK(kept.store.run(1)->state == "interrupted");
    const auto kept_fingerprint = run_fingerprint_lines(kept.store, 1);
    REQUIRE(kept_fingerprint.size() < kTrials);
    CHECK(std::equal(kept_fingerprint.begin(), kept_fingerprint.end(),
                     toy_fingerprint(kTrials).begin()));
  }
  EvolveOptions options = toy_trials();
  options.resume = 1;
  Staged one;
  CHECK_FALSE(search_toy(kept.store, {&one}, options).device_lost);
  CHECK(run_fingerprint_lines(kept.store, 1) == toy_fingerprint(kTrials));
}

TEST_CASE("a run that is stopped goes on with another number of devices") {
  ScratchStore kept;
  Staged a, b, c;
  CHECK(search_until(kept.store, {&a, &b}, toy_trials(), 13).interrupted);
  EvolveOptions options = toy_trials();
  options.resume = 1;
  CHECK(search_until(kept.store, {&a, &b, &c}, options, 20).interrupted);
  CHECK_FALSE(search_toy(kept.store, {&a}, options).interrupted);
  CHECK(run_fingerprint_lines(kept.store, 1) == toy_fingerprint(kTrials));
}

TEST_CASE("a kernel that ends the process of two devices is charged, and it alone") {
  std::string deadly;
  std::int64_t number = 0;
  {
    // The second correct one; its PTX is what the devices know it by.
    ScratchStore kept;
    Staged device;
    search_toy(kept.store, {&device}, toy_trials());
    int right = 0;
    for (const TrialRow& trial : kept.store.trials(1)) {
      if (trial.screen_time && ++right == 2) number = trial.number;
      if (number == trial.number) break;
    }
    const Config config = Config::from_json(kept.store.trial(1, number)->config_json);
    const Template& from = toy().template_of(config);
    deadly = test::toy_compiler()
                 ->compile({from.render(config, {}), "sm_89", BinaryKind::ptx, {}})
                 ->image.bytes;
  }
  const auto script = [&](Staged& device, const std::string& image) -> std::optional<Fault> {
    if (image == deadly) return dies(device);
    return std::nullopt;
  };
  ScratchStore kept;
  Staged a(script), b(script);
  EvolveOptions options = toy_trials(8);  // of which nothing depends on what became of the others
  const EvolveResult result = search_toy(kept.store, {&a, &b}, options);
  CHECK(result.trouble.empty());
  CHECK(a.died.size() + b.died.size() == 2);
  REQUIRE(number <= 8);
  const auto charged = kept.store.trial(1, number);
  CHECK(charged->finding == "crash");
  CHECK(charged->message == "the process that ran it was lost twice: launch: signal 11");
  CHECK(kept.store.record_attempt(1, number, charged->config_json) == 3);
  for (const TrialRow& trial : kept.store.trials(1))
    if (trial.number != number && trial.duplicate_of != charged->id)
      CHECK(trial.finding != "crash");
}

TEST_CASE("a device on which die what others bear is set aside, and no kernel is charged") {
  ScratchStore kept;
  Staged bad([](Staged& device, const std::string&) { return std::optional(dies(device)); });
  Staged good;
  const EvolveResult result = search_toy(kept.store, {&bad, &good}, toy_trials());
  CHECK(result.trouble.empty());
  CHECK_FALSE(result.device_lost);
  CHECK(run_fingerprint_lines(kept.store, 1) == toy_fingerprint(kTrials));
  // Three for the verdict, and what was handed out by then.
  CHECK(bad.died.size() <= 3 + 2 * 4);
}

TEST_CASE("a run that is given up asks a device nothing before its slot has let go of it") {
  ScratchStore kept;
  Visited device;
  const EvolveResult result = search_toy(kept.store, {&device}, toy_trials());
  CHECK(test::has(result.trouble, "8 kernels in a row ended the process"));
  CHECK_FALSE(device.shared.load());
}

TEST_CASE("as many devices are called as jobs come, and each job is done once") {
  constexpr int kDevices = 5, kRounds = 200;
  std::vector<std::unique_ptr<Staged>> owned;
  std::vector<Device*> devices;
  for (int i = 0; i < kDevices; ++i)
    devices.push_back(owned.emplace_back(std::make_unique<Staged>()).get());
  TaskQueue queue;
  DeviceExecutor executor(devices, queue);
  for (int round = 0; round < kRounds; ++round) {
    // Each job waits for the others.
    std::latch all(kDevices);
    std::atomic<int> met = 0;
    int done = 0;
    for (int i = 0; i < kDevices; ++i)
      executor.submit({[&](Device&, std::size_t) {
                         all.count_down();
                         met += comes(all);
                       },
                       [&](std::size_t, const Attempt&) { ++done; }});
    while (executor.under_way() > 0) queue.run_pending();
    REQUIRE(met == kDevices);
    REQUIRE(done == kDevices);
  }
}

TEST_CASE("devices of different kinds are not mixed") {
  ScratchStore kept;
  Staged a, b({}, "emulator:a100");
  CHECK_THROWS_WITH_AS(
      search_toy(kept.store, {&a, &b}, toy_trials()),
      "emulator:l4 is emulated NVIDIA L4 and emulator:a100 is emulated NVIDIA A100 SXM 40GB: times "
      "of different devices do not compare, so name devices of one kind for a run",
      UserError);
  CHECK(kept.store.runs().empty());
}

TEST_CASE("a machine's error in one slot comes out of the run") {
  ScratchStore kept;
  Staged a([](Staged&, const std::string&) -> std::optional<Fault> {
    throw MachineError("out of memory");
  });
  Staged b;
  CHECK_THROWS_WITH_AS(search_toy(kept.store, {&a, &b}, toy_trials()), "out of memory",
                       MachineError);
}

TEST_CASE("a run keeps its policy; one from before there was any is gone on with as it began") {
  RunRow run;
  const auto policy = [&run](const std::string& options) {
    run.options_json = options;
    return batch_policy_of(run);
  };
  CHECK(policy(R"({"generation":16,"trials":100})").generation == 16);
  CHECK(policy(R"({"generation":16,"trials":100})").ahead == 0);
  CHECK(policy(R"({"generation":4,"ahead":3})").generation == 4);
  CHECK(policy(R"({"generation":4,"ahead":3})").ahead == 3);
  for (const char* bad :
       {R"({"generation":0})", R"({"generation":"8"})", R"({"ahead":-1})", R"({"ahead":99999999})"})
    CHECK_THROWS_AS(policy(bad), UserError);

  // Asked in other batches the search takes another way; resumed it keeps its own.
  ScratchStore kept;
  Staged device;
  EvolveOptions options = toy_trials();
  options.policy = {.generation = 16, .ahead = 0};
  search_toy(kept.store, {&device}, options);
  const auto whole = run_fingerprint_lines(kept.store, 1);
  CHECK(whole != toy_fingerprint(kTrials));
  search_until(kept.store, {&device}, options, 21);
  options.policy = {};
  options.resume = 2;
  search_toy(kept.store, {&device}, options);
  CHECK(run_fingerprint_lines(kept.store, 2) == whole);
}

}  // namespace fa_tune::test
