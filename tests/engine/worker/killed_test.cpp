// Workers that are killed or stopped from outside: it is nobody's fault but the machine's.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

#include "engine/util/error.hpp"
#include "engine/util/process.hpp"
#include "engine/util/stopwatch.hpp"
#include "engine/worker/remote_compiler.hpp"
#include "engine/worker/remote_device.hpp"
#include "tests/engine/worker/workers.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::worker;

namespace {

std::unique_ptr<Device> open_killable() {
  RemoteOptions options;
  options.words = test::bad_worker({"--device", "l4"});
  options.deadlines = Deadlines::of_emulator();
  return open_remote(options);
}

// 0, 1, 2, ... and one added to each.
bool counts(Device& device) {
  std::array<std::uint32_t, 64> numbers{};
  std::iota(numbers.begin(), numbers.end(), 0U);
  const BufferHandle buffer = device.allocate(sizeof numbers);
  REQUIRE(device.write(buffer, 0, std::as_bytes(std::span(numbers))));
  Launch launch;
  launch.kernel = device.load(test::counting_kernel()).value();
  launch.config.block.x = 64;
  launch.arguments.emplace_back(buffer);
  REQUIRE(device.launch(launch));
  REQUIRE(device.read(buffer, 0, std::as_writable_bytes(std::span(numbers))));
  device.release(buffer);
  device.unload(launch.kernel);
  for (std::uint32_t i = 0; i < numbers.size(); ++i)
    if (numbers[i] != i + 1) return false;
  return true;
}

}  // namespace

TEST_CASE("what was in a worker that is killed from outside is missed as the machine's") {
  const auto device = open_killable();
  for (int round = 0; round < 20; ++round) {
    CAPTURE(round);
    std::array<std::byte, 4> bytes{};
    const BufferHandle buffer = device->allocate(sizeof bytes);
    REQUIRE(device->write(buffer, 0, bytes));
    kill_children();
    // Seen at once, or only when it is asked; never as what a new worker says of an old buffer.
    if (round % 2 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK(test::has(test::message_of<MachineError>([&] { (void)device->read(buffer, 0, bytes); }),
                    "signal 9"));
    REQUIRE(device->deaths().size() == static_cast<std::size_t>(round) + 1);
    CHECK(device->deaths().back().kind == FaultKind::killed);
    device->release(buffer);
    CHECK(counts(*device));
  }
}

TEST_CASE("a compiler that is killed from outside has not been ended by its source") {
  RemoteCompilerOptions options{test::bad_worker({"--compile"})};
  options.deadline = std::chrono::milliseconds(1500);
  const auto compiler = open_remote_compiler(options);
  std::atomic<int> kills = 0;
  std::thread killer([&] {
    for (; kills < 10; ++kills) {
      std::this_thread::sleep_for(std::chrono::milliseconds(60));
      kill_children();
    }
  });
  const auto outcome = compiler->compile({{"hang", "k", ""}, "sm_89", BinaryKind::ptx, {}});
  killer.join();
  REQUIRE_FALSE(outcome.has_value());
  CHECK(outcome.error().message == "the compiler ended over it, twice: no answer in 1500 ms");
  const auto next = compiler->compile({{"good", "k", ""}, "sm_89", BinaryKind::ptx, {}});
  REQUIRE(next.has_value());
  CHECK(next->image.bytes == "good");
}

TEST_CASE("a worker that is stopped from outside is ended soon, as the machine's doing") {
  const auto device = open_killable();
  std::array<std::byte, 4> bytes{};
  const BufferHandle buffer = device->allocate(sizeof bytes);
  REQUIRE(device->write(buffer, 0, bytes));
  // For a moment: nothing comes of it.
  kill_children(SIGSTOP);
  std::thread other([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1200));
    kill_children(SIGCONT);
  });
  CHECK(device->read(buffer, 0, bytes));
  other.join();
  CHECK(device->deaths().empty());
  // For good; the deadline is half an hour.
  kill_children(SIGSTOP);
  const Stopwatch watch;
  CHECK(test::has(test::message_of<MachineError>([&] { (void)device->read(buffer, 0, bytes); }),
                  "stopped by a signal (SIGSTOP)"));
  CHECK(watch.milliseconds() < 60'000);
  REQUIRE(device->deaths().size() == 1);
  CHECK(device->deaths().back().kind == FaultKind::killed);
  device->release(buffer);
  CHECK(counts(*device));
}

TEST_CASE("a worker that is stopped at its deadline has not hung") {
  RemoteOptions options;
  options.words = test::bad_worker({"--device", "l4"});
  options.deadlines.copy = std::chrono::milliseconds(700);
  const auto device = open_remote(options);
  std::array<std::byte, 4> bytes{};
  const BufferHandle buffer = device->allocate(sizeof bytes);
  kill_children(SIGSTOP);
  CHECK_THROWS_AS((void)device->write(buffer, 0, bytes), MachineError);
  REQUIRE(device->deaths().size() == 1);
  CHECK(device->deaths().back().kind == FaultKind::killed);
}

TEST_CASE("a compiler that is stopped from outside has not hung over its source") {
  RemoteCompilerOptions options{test::bad_worker({"--compile"})};
  options.deadline = std::chrono::minutes(30);
  const auto compiler = open_remote_compiler(options);
  kill_children(SIGSTOP);
  const auto outcome = compiler->compile({{"good", "k", ""}, "sm_89", BinaryKind::ptx, {}});
  REQUIRE(outcome.has_value());
  CHECK(outcome->image.bytes == "good");
}

TEST_CASE("kills are borne until there have been many, and for long") {
  OutsideKills patient;
  for (int i = 0; i < 100; ++i) CHECK(patient.bearable());
  OutsideKills impatient(std::chrono::seconds(0));
  for (int i = 1; i < 8; ++i) CHECK(impatient.bearable());
  CHECK_FALSE(impatient.bearable());
  CHECK(test::has(impatient.text(), "was killed 8 times in a row, and not by fa-tune"));
}

}  // namespace fa_tune::test
