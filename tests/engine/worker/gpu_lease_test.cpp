// Who may use a GPU while a clock runs there.

#include "engine/device/gpu_lease.hpp"

#include <chrono>
#include <cstdlib>
#include <future>

#include <doctest/doctest.h>

#include "engine/worker/remote_device.hpp"
#include "tests/engine/worker/workers.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::worker;
using namespace std::chrono_literals;
using Use = GpuLease::Use;

namespace {

// Asks for it on another thread; the answer is whether it has come.
std::future<void> ask(GpuLease& lease, Use use) {
  return std::async(std::launch::async, [&lease, use] { const auto held = lease.hold(use); });
}
bool comes(const std::future<void>& asked) {
  return asked.wait_for(10s) == std::future_status::ready;
}
bool waits(const std::future<void>& asked) {
  return asked.wait_for(100ms) == std::future_status::timeout;
}

}  // namespace

TEST_CASE("a clock has a GPU for itself, launches of several run beside each other") {
  const test::ScratchFolder folder;
  GpuLease mine("GPU-1", folder.path());
  GpuLease theirs("GPU-1", folder.path());
  GpuLease elsewhere("GPU-2", folder.path());
  GpuLease nowhere("", folder.path());
  for (const Use other : {Use::timing, Use::running}) {
    std::future<void> asked;
    {
      const auto clock = mine.hold(Use::timing);
      asked = ask(theirs, other);
      CHECK(waits(asked));
      CHECK(comes(ask(elsewhere, Use::timing)));
      CHECK(comes(ask(nowhere, Use::timing)));
    }
    CHECK(comes(asked));
  }
  const auto runs = mine.hold(Use::running);
  CHECK(comes(ask(theirs, Use::running)));
}

TEST_CASE("a clock waits for launches of others") {
  const test::ScratchFolder folder;
  GpuLease mine("GPU-1", folder.path());
  GpuLease theirs("GPU-1", folder.path());
  std::future<void> asked;
  {
    const auto runs = theirs.hold(Use::running);
    asked = ask(mine, Use::timing);
    CHECK(waits(asked));
  }
  CHECK(comes(asked));
}

TEST_CASE("a device in another process is not asked while another clock runs on its GPU") {
  const test::ScratchFolder folder;
  setenv("XDG_RUNTIME_DIR", folder.path().c_str(), 1);
  RemoteOptions options;
  options.words = test::bad_worker({"--device", "l4", "--uuid", "GPU-of-a-test"});
  options.deadlines = Deadlines::of_emulator();
  // The wait is no part of what a launch may take.
  options.deadlines.launch = options.deadlines.time = 5s;
  const auto device = open_remote(options);
  CHECK(device->info().uuid == "GPU-of-a-test");
  const auto kernel = device->load(test::counting_kernel());
  REQUIRE(kernel);
  Launch launch;
  launch.kernel = *kernel;
  launch.config.block.x = 64;
  launch.arguments = {device->allocate(256)};
  GpuLease others("GPU-of-a-test");
  unsetenv("XDG_RUNTIME_DIR");
  for (const bool timed : {false, true}) {
    std::future<bool> ran;
    {
      const auto clock = others.hold(Use::timing);
      ran = std::async(std::launch::async, [&] {
        return timed ? device->time(launch, {}).has_value() : device->launch(launch).has_value();
      });
      CHECK(ran.wait_for(100ms) == std::future_status::timeout);
    }
    CHECK(ran.get());
  }
  CHECK(device->deaths().empty());
}

}  // namespace fa_tune::test
