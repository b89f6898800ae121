// Devices that come while a search runs, and that go with their machines: what is found is what one
// device finds.
#include "engine/device/device_supply.hpp"

#include <atomic>
#include <mutex>
#include <set>

#include <doctest/doctest.h>

#include "engine/device/local/open.hpp"
#include "engine/report/recorded_run.hpp"
#include "engine/tuner/evolve.hpp"
#include "engine/tuner/trial/crash_policy.hpp"
#include "engine/util/environment.hpp"
#include "engine/util/error.hpp"
#include "engine/util/random.hpp"
#include "tests/engine/tuner/fixture.hpp"
#include "tests/engine/tuner/listeners.hpp"
#include "tests/engine/tuner/toy.hpp"
#include "tests/forwarding_device.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;
using namespace fa_tune::device;
using namespace fa_tune::report;
using namespace fa_tune::tuner;

namespace {

constexpr int kTrialsOfSupplied = 60;
constexpr int kForEver = 1'000'000'000;

// An emulator whose machine is gone at the `calls`-th question that it is asked.
class Mortal : public ForwardingDevice {
 public:
  explicit Mortal(int calls, std::function<void()> on_end = {})
      : ForwardingDevice(toy_device()), left_(calls), on_end_(std::move(on_end)) {}

  bool lost() const override { return left_ <= 0; }
  bool apart() const override { return true; }
  std::expected<KernelHandle, Fault> load(const KernelImage& image) override {
    ask();
    return ForwardingDevice::load(image);
  }
  BufferHandle allocate(std::size_t bytes) override {
    ask();
    return ForwardingDevice::allocate(bytes);
  }
  std::expected<void, Fault> write(BufferHandle buffer, std::size_t offset,
                                   std::span<const std::byte> bytes) override {
    ask();
    return ForwardingDevice::write(buffer, offset, bytes);
  }
  std::expected<void, Fault> read(BufferHandle buffer, std::size_t offset,
                                  std::span<std::byte> bytes) override {
    ask();
    return ForwardingDevice::read(buffer, offset, bytes);
  }
  std::expected<void, Fault> launch(const Launch& launch) override {
    ask();
    return ForwardingDevice::launch(launch);
  }
  std::expected<Timing, Fault> time(const Launch& launch, const TimingPlan& plan) override {
    ask();
    return ForwardingDevice::time(launch, plan);
  }

 private:
  void ask() {
    if (left_ > 0) {
      --left_;
      if (left_ == 0 && on_end_) on_end_();
    }
    if (left_ <= 0) throw DeviceGone("its machine is gone");
  }

  std::atomic<int> left_;
  std::function<void()> on_end_;
};

// In the place of each that goes comes another, which lives for `life()` questions; until `deaths`
// have been.
class Machines final : public DeviceSupply {
 public:
  Machines(int deaths, std::function<int()> life) : deaths_(deaths), life_(std::move(life)) {}

  Device& add() {
    const std::lock_guard lock(mutex_);
    return *devices_.emplace_back(
        std::make_unique<Mortal>(deaths_ > 0 ? life_() : kForEver, [this] { on_death(); }));
  }
  void bring() {
    Device& added = add();
    const std::lock_guard lock(mutex_);
    arrived_.push_back(&added);
    if (wake_) wake_();
  }
  int died() const { return died_; }

  std::vector<Device*> take_arrived() override {
    const std::lock_guard lock(mutex_);
    return std::exchange(arrived_, {});
  }
  void on_arrival(std::function<void()> wake) override {
    const std::lock_guard lock(mutex_);
    wake_ = std::move(wake);
  }
  std::chrono::milliseconds patience() const override { return waits; }
  std::string awaited() const override { return "a machine"; }

  std::chrono::milliseconds waits{60'000};
  bool replaces = true;

 private:
  void on_death() {
    ++died_;
    --deaths_;
    if (replaces) bring();
  }

  std::atomic<int> deaths_;
  std::function<int()> life_;
  std::atomic<int> died_{0};
  std::mutex mutex_;  // guards all below
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<Device*> arrived_;
  std::function<void()> wake_;
};

EvolveResult search(Store& store, const std::vector<Device*>& devices, DeviceSupply* supply,
                    const std::function<void(const TrialRow&)>& each = {},
                    std::optional<std::int64_t> resume = {}) {
  EvolveOptions options = toy_options(kTrialsOfSupplied);
  options.jobs = 2;
  options.supply = supply;
  options.resume = resume;
  return search_toy(store, devices, options, each);
}

}  // namespace

TEST_CASE("machines that are lost at any moment change nothing in what is found") {
  const int wanted = environment("FA_TUNE_THOROUGH").empty() ? 60 : 200;
  Random random(11);
  std::mutex mutex;
  int deaths = 0;
  for (int round = 0; deaths < wanted && round < 100; ++round) {
    Machines machines(20, [&] {
      const std::lock_guard lock(mutex);
      // From the first question to some trials' worth, the finals' too.
      return 1 + static_cast<int>(random.below(random.below(3) == 0 ? 10 : 600));
    });
    ScratchStore kept;
    // With one, none is left after each.
    std::vector<Device*> first = {&machines.add()};
    if (round % 2 == 0) first.push_back(&machines.add());
    const EvolveResult result = search(kept.store, first, &machines);
    CAPTURE(round);
    CHECK_FALSE(result.device_lost);
    CHECK_FALSE(result.interrupted);
    CHECK((run_fingerprint_lines(kept.store, 1) == toy_fingerprint(kTrialsOfSupplied)));
    CHECK(kept.store.run(1)->state == "done");
    deaths += machines.died();
  }
  CHECK(deaths >= wanted);
}

TEST_CASE("a machine that comes late takes its part") {
  Machines machines(0, {});
  ScratchStore kept;
  int done = 0;
  std::set<std::string> devices;
  const EvolveResult result =
      search(kept.store, {&machines.add()}, &machines, [&](const TrialRow& row) {
        if (++done == 5) machines.bring();
        devices.insert(row.device);
      });
  CHECK(result.breakdown.devices == std::vector<std::string>{"emulator:l4", "emulator:l4#2"});
  CHECK(devices.contains("emulator:l4#2"));
  CHECK((run_fingerprint_lines(kept.store, 1) == toy_fingerprint(kTrialsOfSupplied)));
}

TEST_CASE("a run that no machine is left for, and none comes, goes on later") {
  Machines machines(1, [] { return 300; });
  machines.replaces = false;
  machines.waits = std::chrono::milliseconds(50);
  ScratchStore kept;
  const EvolveResult result = search(kept.store, {&machines.add()}, &machines);
  CHECK(result.device_lost);
  CHECK(machines.died() == 1);
  CHECK(kept.store.run(1)->state == "interrupted");
  const std::size_t before = kept.store.trials(1).size();
  CHECK(before > 0);
  CHECK(before < kTrialsOfSupplied);
  Mortal device(kForEver);
  CHECK_FALSE(search(kept.store, {&device}, nullptr, {}, 1).device_lost);
  CHECK((run_fingerprint_lines(kept.store, 1) == toy_fingerprint(kTrialsOfSupplied)));
}

TEST_CASE("an attempt on a device that goes is lost and nobody's fault, another's end is not its") {
  Mortal device(1);
  const Attempt ended = attempt_once(device, [&] { (void)device.allocate(64); });
  CHECK(ended.lost);
  CHECK_FALSE(ended.death.has_value());
  Mortal other(kForEver);
  CHECK_THROWS_AS(attempt_once(other, [&] { (void)device.allocate(64); }), DeviceGone);
}

}  // namespace fa_tune::test
