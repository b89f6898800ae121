// Who is charged with the end of a process, without any process.

#include "engine/tuner/trial/crash_policy.hpp"

#include <doctest/doctest.h>

#include "engine/util/error.hpp"
#include "tests/forwarding_device.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::tuner;

namespace {

const Fault kSegfault{FaultKind::died, "launch: signal 11"};

// Nothing runs on it; its process dies, and it is lost, when a test says so.
struct Mortal : test::ForwardingDevice {
  Mortal() : ForwardingDevice(nullptr) {}
  std::span<const Fault> deaths() const override { return died; }
  bool ready() override { return !gone; }
  std::vector<Fault> died;
  bool gone = false;
};

// What `kernel` is charged with after this death on `device`.
std::optional<Rejection> charge_of(CrashPolicy& policy, std::uint64_t kernel, const Fault& death,
                                   std::size_t device = 0) {
  Attempt ended{.death = death};
  const bool again = policy.tries_again(kernel, ended, device);
  CHECK(again == !ended.charge);
  return ended.charge;
}

std::string text_of(const std::optional<Rejection>& charge) {
  return charge ? charge->finding + ": " + charge->message : "";
}

// `kernel` dies on device 0 and runs to its end on device 1.
std::optional<std::size_t> false_death(CrashPolicy& policy, std::uint64_t kernel) {
  CHECK_FALSE(charge_of(policy, kernel, kSegfault, 0));
  return policy.survived(kernel, 1);
}

}  // namespace

TEST_CASE("a kernel is charged with the second death, and no other is") {
  CrashPolicy policy;
  CHECK_FALSE(charge_of(policy, 7, kSegfault));
  CHECK_FALSE(charge_of(policy, 8, kSegfault));
  CHECK(text_of(charge_of(policy, 7, kSegfault, 1)) ==
        "crash: the process that ran it was lost twice: launch: signal 11");
  // One that died once and then ran to its end is as new.
  CHECK_FALSE(policy.survived(8, 0));
  CHECK_FALSE(charge_of(policy, 8, kSegfault));
  CHECK(text_of(charge_of(policy, 8, {FaultKind::timeout, "launch: 3 s"})) ==
        "hang: the process that ran it was lost twice: launch: 3 s");
}

TEST_CASE("a trial that was under way at two ends of the engine itself is charged") {
  CHECK_FALSE(CrashPolicy::left_under_way(0));
  CHECK_FALSE(CrashPolicy::left_under_way(1));
  CHECK(CrashPolicy::left_under_way(2));
  CHECK(text_of(CrashPolicy::left_under_way(3)) ==
        "crash: it was under way 3 times when a process died");
}

TEST_CASE(
    "a try that says nothing of the kernel is none, and a fault that it owns to is no death") {
  CrashPolicy policy;
  for (int i = 0; i < 5; ++i) {
    Attempt lost{.lost = true};
    CHECK(policy.tries_again(1, lost));
    Attempt fault{.death = Fault{FaultKind::misaligned, "launch: address 3"}};
    CHECK_FALSE(policy.tries_again(1, fault));
    CHECK_FALSE(fault.charge);
  }
}

TEST_CASE("three kernels in a row that die on one device and not on another speak of the device") {
  CrashPolicy policy;
  CHECK_FALSE(false_death(policy, 1));
  CHECK_FALSE(false_death(policy, 2));
  SUBCASE("at once") {
    CHECK(false_death(policy, 3) == 0);
    CHECK(false_death(policy, 4) == 0);
  }
  SUBCASE("not if it runs one to its end in between") {
    CHECK_FALSE(policy.survived(3, 0));
    CHECK_FALSE(false_death(policy, 4));
    CHECK_FALSE(false_death(policy, 5));
    CHECK(false_death(policy, 6) == 0);
  }
  SUBCASE("not if a kernel dies and then runs on the same") {
    CHECK_FALSE(charge_of(policy, 3, kSegfault, 0));
    CHECK_FALSE(policy.survived(3, 0));
    CHECK_FALSE(false_death(policy, 4));
  }
  SUBCASE("another that runs them to their end makes no difference") {
    CHECK_FALSE(policy.survived(3, 1));
    CHECK(false_death(policy, 4) == 0);
  }
}

TEST_CASE("eight charged kernels in a row and the run is given up") {
  CrashPolicy policy;
  const auto charged = [&](int times) {
    std::string trouble;
    for (int i = 0; i < times && trouble.empty(); ++i) trouble = policy.settled(true, "signal 11");
    return trouble;
  };
  CHECK(charged(7).empty());
  CHECK(policy.settled(false, "").empty());
  CHECK(charged(7).empty());
  CHECK(charged(1) ==
        "8 kernels in a row ended the process that ran them, the last one: signal 11; the device "
        "or its driver cannot be trusted");
}

TEST_CASE("a try is explained by what the device says of the kernel, and by nothing else") {
  Mortal device;
  const auto dying_with = [&](FaultKind kind) {
    return attempt_once(device, [&] { device.died.push_back({kind, "gone"}); });
  };
  CHECK_FALSE(attempt_once(device, [] {}).death);
  for (const FaultKind kind : {FaultKind::died, FaultKind::killed, FaultKind::gone,
                               FaultKind::timeout, FaultKind::device_lost}) {
    CAPTURE(to_text(kind));
    CHECK(dying_with(kind).unexplained());
  }
  const Attempt illegal = dying_with(FaultKind::out_of_bounds);
  CHECK(illegal.death);
  CHECK_FALSE(illegal.unexplained());
}

TEST_CASE("a process that is killed from outside charges no kernel, however often") {
  Mortal device;
  int tries = 0;
  const Attempt ended = run_with_retry(device, [&] {
    if (++tries <= 20) device.died.push_back({FaultKind::killed, "launch: signal 9 (Killed)"});
  });
  CHECK(tries == 21);
  CHECK_FALSE(ended.charge);
  CHECK_FALSE(ended.death);
  // Two deaths of its own are still its own, whoever kills in between.
  tries = 0;
  const Attempt own = run_with_retry(device, [&] {
    const bool kills = ++tries % 2 == 0;
    device.died.push_back(kills ? Fault{FaultKind::killed, "launch: signal 9"} : kSegfault);
  });
  CHECK(tries == 3);
  CHECK(text_of(own.charge) == "crash: the process that ran it was lost twice: launch: signal 11");
}

TEST_CASE("what a machine could not do while a process ended is no error of the machine's") {
  Mortal device;
  const auto failing = [] { throw MachineError("no memory"); };
  CHECK_THROWS_AS(attempt_once(device, failing), MachineError);
  const Attempt broken = attempt_once(device, [&] {
    device.died.push_back({FaultKind::out_of_bounds, "launch: address 16"});
    failing();
  });
  CHECK(broken.broken_off);
  // It may have been about another kernel.
  CHECK(broken.unexplained());
}

TEST_CASE("a kernel is tried again alone, and what comes of that counts") {
  Mortal device;
  int tries = 0;
  const auto dies = [&](int times) {
    tries = 0;
    return run_with_retry(device, [&, times] {
      if (++tries <= times) device.died.push_back(kSegfault);
    });
  };
  CHECK_FALSE(dies(0).charge);
  CHECK(tries == 1);
  CHECK_FALSE(dies(1).charge);
  CHECK(tries == 2);
  CHECK(text_of(dies(2).charge) ==
        "crash: the process that ran it was lost twice: launch: signal 11");
  CHECK(tries == 2);
  // No new process starts after the first death: nothing is known of the kernel.
  const Attempt lost = run_with_retry(device, [&] {
    device.died.push_back(kSegfault);
    device.gone = true;
  });
  CHECK(lost.lost);
  CHECK_FALSE(lost.charge);
}

}  // namespace fa_tune::test
