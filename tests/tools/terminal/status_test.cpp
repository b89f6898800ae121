#include "tools/terminal/status.hpp"

#include <doctest/doctest.h>

#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace fa_tune::terminal;

namespace {

RunStatus in_the_middle() {
  RunStatus status;
  status.trials = 60;
  status.passed = 52;
  status.failed = 3;
  status.duplicate = 5;
  status.of = 120;
  status.best_us = 16.47;
  status.kind = "predicted";
  status.beside_us = 234.82;
  status.beside = "baseline";
  status.seconds = 30;
  status.left_s = 30;
  status.waits_for = "compilers";
  status.waits_s = 3;
  return status;
}

std::string text(const RunStatus& status, std::size_t columns) {
  return drawn(status_line(status, columns), false);
}

}  // namespace

TEST_CASE("the status of a run: all of it where there is room") {
  CHECK(text(in_the_middle(), 200) ==
        "[##########----------]  60/120  52 passed  3 failed  5 duplicate  "
        "best 16.47 us predicted 14.3x the baseline  2.0/s  30 s left  waits for compilers 3 s");
}

TEST_CASE("the status of a run: what matters least goes first") {
  CHECK(text(in_the_middle(), 99) ==
        "[#####-----]  60/120  52 passed 3 failed 5 duplicate  best 16.47 us 14.3x  "
        "30 s left  compilers 3 s");
  CHECK(text(in_the_middle(), 79) ==
        "60/120  3 failed  best 16.47 us 14.3x  30 s left  compilers 3 s");
  CHECK(text(in_the_middle(), 39) == "60/120  best 16.47 us 14.3x");
  CHECK(text(in_the_middle(), 12) == "60/120");
}

TEST_CASE("the status of a run is never wider than the terminal") {
  RunStatus finals = in_the_middle();
  finals.step = {"emulator check", 3, 12};
  finals.waits_for = "";
  RunStatus begun;
  begun.waits_for = "the plain kernel";
  RunStatus timed = in_the_middle();
  timed.of.reset();
  RunStatus spread = in_the_middle();
  spread.nodes = 12;
  spread.devices = 96;
  spread.lost = 3;
  for (const RunStatus& status : {in_the_middle(), finals, begun, timed, spread})
    for (std::size_t columns = 0; columns < 160; ++columns)
      CHECK(columns_of(status_line(status, columns)) <= columns);
}

TEST_CASE("the status of a run: the finals have their own") {
  RunStatus finals = in_the_middle();
  finals.step = {"emulator check", 3, 12};
  finals.waits_for = "";
  CHECK(text(finals, 100) ==
        "[#####---------------]  finals: emulator check 3/12  "
        "best 16.47 us predicted 14.3x the baseline  3 s");
  CHECK(text(finals, 39) == "finals: emulator check 3/12");
}

TEST_CASE("the status of a run before there is anything to tell") {
  RunStatus begun;
  begun.of = 24;
  begun.waits_for = "the plain kernel";
  CHECK(text(begun, 79) == "[--------------------]  0/24  waits for the plain kernel");
  begun.of.reset();
  CHECK(text(begun, 79) == "0  waits for the plain kernel");
}

TEST_CASE("the status of a run with nodes counts them, their devices, and those that were lost") {
  RunStatus status = in_the_middle();
  status.nodes = 2;
  status.devices = 5;
  CHECK(has(text(status, 200), "30 s left  2 nodes 5 devices  waits for"));
  status.nodes = status.devices = status.lost = 1;
  CHECK(has(text(status, 200), "30 s left  1 node 1 device 1 lost  waits for"));
  CHECK(text(status, 100) ==
        "60/120  3 failed  best 16.47 us 14.3x  30 s left  1 device 1 lost  compilers 3 s");
  status.nodes = status.devices = 0;
  CHECK(has(text(status, 200), "0 nodes 0 devices 1 lost"));
}

}  // namespace fa_tune::test
