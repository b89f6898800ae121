// What a run says of itself in its database while it runs.
#include "engine/tuner/loop/status_log.hpp"

#include <thread>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "engine/device/local/open.hpp"
#include "engine/report/recorded_run.hpp"
#include "engine/tuner/evolve.hpp"
#include "engine/tuner/loop/run_options.hpp"
#include "engine/util/instant.hpp"
#include "engine/util/stopwatch.hpp"
#include "tests/engine/tuner/listeners.hpp"
#include "tests/engine/tuner/toy.hpp"
#include "tests/forwarding_device.hpp"

namespace fa_tune::test {

using namespace fa_tune::db;
using namespace fa_tune::device;
using namespace fa_tune::tuner;
using namespace std::chrono_literals;

namespace {

struct KeptStatus : ScratchStore {
  nlohmann::json status() const {
    const auto row = store.status(1);
    return row ? nlohmann::json::parse(row->status_json) : nlohmann::json();
  }
};

std::unique_ptr<Device> an_emulator() {
  return open_device("emulator:l4", toy().target, test::root());
}

// Gone after so many launches.
class ShortLived final : public ForwardingDevice {
 public:
  explicit ShortLived(int launches) : ForwardingDevice(an_emulator()), left_(launches) {}
  bool lost() const override { return left_ <= 0; }
  bool apart() const override { return true; }
  std::string lost_because() const override { return "its machine burns"; }
  std::expected<void, Fault> launch(const Launch& launch) override {
    if (--left_ <= 0) throw DeviceGone("gone");
    return ForwardingDevice::launch(launch);
  }

 private:
  std::atomic<int> left_;
};

struct Listening : QuietListener {
  std::vector<DeviceStanding> devices;
  int waits = 0;
  void on_devices(const std::vector<DeviceStanding>& now) override { devices = now; }
  void on_wait(const std::string&) override { ++waits; }
};

}  // namespace

TEST_CASE("a roster knows what each device does, and what became of it") {
  const auto one = an_emulator();
  const auto other = an_emulator();
  DeviceRoster roster;
  CHECK(roster.add(*one) == "emulator:l4");
  CHECK(roster.add(*other) == "emulator:l4#2");
  CHECK(roster.add(*one) == "emulator:l4");
  CHECK(roster.changes() == 2);
  {
    const DeviceRoster::Work work(roster, *other, "trial 7");
    const auto now = roster.standings();
    REQUIRE(now.size() == 2);
    CHECK(now[0].state == DeviceStanding::State::idle);
    CHECK(now[1].state == DeviceStanding::State::working);
    CHECK(now[1].does == "trial 7");
    CHECK(std::chrono::system_clock::now() - now[1].since < 60s);
    roster.lose(*other, "");
  }
  roster.works(*other, "trial 8");
  roster.retire(*one, "three in a row");
  const auto now = roster.standings();
  CHECK(now[1].state == DeviceStanding::State::lost);
  CHECK(now[1].why == "no reason is known");
  CHECK(now[0].why == "three in a row");
  const auto changes = roster.changes();
  roster.rests(*one);
  CHECK(roster.changes() == changes);
}

TEST_CASE("a status is written when it changes, and seldom where it changes often") {
  KeptStatus kept;
  const auto device = an_emulator();
  DeviceRoster roster;
  roster.add(*device);
  EvolveOptions options;
  options.trials = 12;
  kept.store.begin_run(describe_run(toy(), {"emulator:l4"}, device->info(), "toy 1", options));
  Listening listening;
  StatusLog log(kept.store, roster, options, listening);
  log.on_wait("before it has begun");
  CHECK(kept.status().is_null());
  log.begin(1);
  CHECK(kept.status()["phase"] == "search");
  CHECK(kept.status()["budget"]["trials"] == 12);
  CHECK(kept.status()["budget"]["seconds"].is_null());
  CHECK(instant_of(kept.status()["began"].get<std::string>()).has_value());
  CHECK(listening.devices.size() == 1);

  // One that is the same is not written again.
  log.on_wait("compilers");
  CHECK(kept.status()["waits_for"] == "compilers");
  const std::string at = kept.store.status(1)->at;
  std::this_thread::sleep_for(20ms);
  log.on_wait("compilers");
  CHECK(kept.store.status(1)->at == at);

  int written = 0;
  std::string before = at;
  const Stopwatch watch;
  for (int i = 0; i < 500; ++i) {
    log.on_wait(i % 2 == 0 ? "the device" : "compilers");
    const std::string now = kept.store.status(1)->status_json;
    written += now != before;
    before = now;
  }
  CHECK(written >= 2);
  CHECK(written <= 7 + watch.milliseconds() / 1000);
  CHECK(listening.waits == 503);

  // A step that may be long, and another phase, are written at once.
  log.on_final_step("raced", 0, 40);
  CHECK(kept.status()["step"]["name"] == "raced");
  CHECK(kept.status()["waits_for"].is_null());
  log.enter("over");
  CHECK(kept.status()["phase"] == "over");
  CHECK(kept.status()["step"].is_null());
}

TEST_CASE(
    "a search leaves a status that names its devices and why one was lost, and finds the same") {
  const auto search = [](Store& store, const std::vector<Device*>& devices, EvolveListener& hears) {
    EvolveOptions options;
    options.trials = 24;
    options.seed = 3;
    const auto compiler = toy_compiler();
    const std::atomic<bool> stop{false};
    evolve(toy(), devices, *compiler, store, options, hears, stop);
  };
  KeptStatus alone;
  const auto device = an_emulator();
  Listening one;
  search(alone.store, {device.get()}, one);
  CHECK(alone.status()["phase"] == "over");
  CHECK(alone.status()["devices"].size() == 1);
  CHECK(alone.status()["devices"][0]["state"] == "idle");

  KeptStatus kept;
  ShortLived first(1'000'000);
  ShortLived second(20);
  Listening both;
  search(kept.store, {&first, &second}, both);
  const auto devices = kept.status()["devices"];
  REQUIRE(devices.size() == 2);
  CHECK(devices[0]["device"] == "emulator:l4");
  CHECK(devices[1]["device"] == "emulator:l4#2");
  CHECK(devices[1]["state"] == "lost");
  CHECK(devices[1]["why"] == "its machine burns");
  REQUIRE(both.devices.size() == 2);
  CHECK(both.devices[1].state == DeviceStanding::State::lost);
  CHECK((report::run_fingerprint_lines(kept.store, 1) ==
         report::run_fingerprint_lines(alone.store, 1)));
}

}  // namespace fa_tune::test
