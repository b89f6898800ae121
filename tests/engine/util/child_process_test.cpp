#include "engine/util/child_process.hpp"

#include <csignal>
#include <fstream>

#include <doctest/doctest.h>

#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace std::chrono_literals;
using Heard = ChildProcess::Heard;

namespace {

// Far enough for a loaded machine; nothing that works waits for it.
constexpr auto kLong = 20s;

ChildProcess::Clock::time_point in(std::chrono::milliseconds time) {
  return ChildProcess::Clock::now() + time;
}

void ignore(std::string_view /*line*/) {}

ChildProcess shell(const std::string& script) { return ChildProcess({"sh", "-c", script}, ignore); }

}  // namespace

TEST_CASE("lines go there and back, and the child ends by itself when its input is closed") {
  ChildProcess child({"cat"}, ignore);
  std::string line;
  child.send("one");
  child.send("two");
  CHECK(child.receive(line, in(kLong), nullptr) == Heard::line);
  CHECK(line == "one");
  CHECK(child.receive(line, in(kLong), nullptr) == Heard::line);
  CHECK(line == "two");
  CHECK(child.receive(line, in(1ms), nullptr) == Heard::nothing);
  CHECK(child.end(in(kLong)) == "exit code 0");
}

TEST_CASE("a child that has gone is news, not a signal") {
  ChildProcess child = shell("printf 'last'; exit 3");
  std::string line;
  CHECK(child.receive(line, in(kLong), nullptr) == Heard::line);
  CHECK(line == "last");
  CHECK(child.receive(line, in(kLong), nullptr) == Heard::ended);
  for (int i = 0; i < 3; ++i) child.send("into the void");
  CHECK(child.end(in(kLong)) == "exit code 3");
}

TEST_CASE("a line that is too long is dropped, and the next one is heard") {
  ChildProcess child = shell("head -c 3000000 /dev/zero | tr '\\0' x; echo; echo next");
  std::string line;
  CHECK(child.receive(line, in(kLong), nullptr) == Heard::too_long);
  CHECK(child.receive(line, in(kLong), nullptr) == Heard::line);
  CHECK(line == "next");
}

TEST_CASE("a child that does not listen is called deaf, and is killed with what it started") {
  const test::ScratchFolder folder;
  const auto file = folder / "grandchild";
  ChildProcess child = shell("trap '' TERM HUP; sleep 1000 & echo $! > " + file.string() +
                             "; echo ready; sleep 1000");
  std::string line;
  REQUIRE(child.receive(line, in(kLong), nullptr) == Heard::line);
  const std::string megabyte(1 << 20, 'x');
  for (int i = 0; i < 18; ++i) child.send(megabyte);
  CHECK(child.receive(line, in(kLong), nullptr) == Heard::deaf);
  CHECK(child.end(in(50ms)) == "was killed");
  const pid_t grandchild = std::stoi(read_file(file));
  // It is adopted and reaped by somebody else, which takes a moment.
  bool gone = false;
  for (int i = 0; i < 2000 && !gone; ++i) {
    std::ifstream status("/proc/" + std::to_string(grandchild) + "/stat");
    std::string text;
    gone = !std::getline(status, text) || test::has(text, ") Z ");
    if (!gone) ChildProcess({"sleep", "0.01"}, ignore).end(in(kLong));
  }
  CHECK(gone);
}

TEST_CASE("a wait ends when it is told to stop") {
  ChildProcess child({"cat"}, ignore);
  const std::atomic<bool> stop{true};
  std::string line;
  CHECK(child.receive(line, in(kLong), &stop) == Heard::stopped);
}

TEST_CASE("the child has three files, its usual signals and a group of its own") {
  ChildProcess child = shell("ls /proc/$$/fd; kill -PIPE $$");
  std::string line;
  for (const char* file : {"0", "1", "2"}) {
    CHECK(child.receive(line, in(kLong), nullptr) == Heard::line);
    CHECK(line == file);
  }
  CHECK(child.receive(line, in(kLong), nullptr) == Heard::ended);
  CHECK(child.end(in(kLong)) == "signal 13 (Broken pipe)");
}

TEST_CASE("standard error comes line by line, the last words of a child included") {
  std::vector<std::string> errors;
  {
    ChildProcess child({"sh", "-c", "echo one >&2; printf two >&2"},
                       [&](std::string_view line) { errors.emplace_back(line); });
    child.end(in(kLong));
  }
  CHECK(errors == std::vector<std::string>{"one", "two"});
}

TEST_CASE("what cannot be run is the user's to mend") {
  CHECK_THROWS_WITH_AS(require_program("no_such_program_here"),
                       "there is no program 'no_such_program_here' in PATH", UserError);
  CHECK_THROWS_WITH_AS(require_program("./no_such_file"),
                       "'./no_such_file' cannot be run: No such file or directory", UserError);
  require_program("sh");
  require_program("/bin/sh");
  CHECK_THROWS_WITH_AS(ChildProcess({"./no_such_file"}, ignore),
                       "'./no_such_file' cannot be started: No such file or directory", UserError);
}

}  // namespace fa_tune::test
