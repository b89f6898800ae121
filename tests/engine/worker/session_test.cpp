#include "engine/worker/session.hpp"

#include <chrono>

#include <doctest/doctest.h>

#include "engine/util/error.hpp"
#include "engine/util/stopwatch.hpp"
#include "tests/engine/worker/workers.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace fa_tune::kernel;
using namespace fa_tune::worker;
using Kind = WorkerTrouble::Kind;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds kLong{60'000};
// For what is to be late. Nothing here is too slow for it that is not meant to.
constexpr milliseconds kShort{300};

ProcessSession compiler() { return ProcessSession(test::bad_worker({"--compile"})); }

message::Request source(const std::string& text) {
  return message::Compile{{{text, "kernel", ""}, "sm_89", BinaryKind::ptx, {}}};
}

WorkerTrouble trouble_over(const std::string& text, milliseconds deadline = kLong) {
  ProcessSession session = compiler();
  REQUIRE(session.greet(kLong).has_value());
  const auto answer = session.ask(source(text), deadline);
  REQUIRE_FALSE(answer.has_value());
  CHECK(session.ended());
  // Later questions are answered at once.
  CHECK_FALSE(session.ask(source("ok"), kLong).has_value());
  return answer.error();
}

}  // namespace

TEST_CASE("a worker greets, answers in order, and may be left alone") {
  ProcessSession session = compiler();
  const auto greeting = session.greet(kLong);
  REQUIRE(greeting.has_value());
  CHECK(std::get<message::CompilerOpened>(*greeting).compiler == "bad 1");
  for (const char* text : {"one", "two"}) {
    const auto answer = session.ask(source(text), kLong);
    REQUIRE(answer.has_value());
    CHECK(std::get<Compiled>(*answer).image.bytes == text);
  }
  CHECK_FALSE(session.ended());
}

TEST_CASE("however a worker ends, it is told in one line") {
  const auto segfault = trouble_over("segfault");
  CHECK(segfault.kind == Kind::died);
  CHECK(test::has(segfault.text, "signal 11 (Segmentation fault)"));
  CHECK(test::has(trouble_over("abort").text, "signal 6"));
  const auto exit = trouble_over("exit");
  CHECK(exit.kind == Kind::died);
  CHECK(exit.text == "exit code 7");
  CHECK(trouble_over("mid_frame").text == "exit code 0, in mid-frame");
}

TEST_CASE("what is no answer ends a worker") {
  const auto garbage = trouble_over("garbage");
  CHECK(garbage.kind == Kind::babbled);
  // What it says next may have come with it.
  CHECK(garbage.text.starts_with("it said what is no frame: 'what is this?"));
  const auto huge = trouble_over("huge");
  CHECK(huge.kind == Kind::babbled);
  CHECK(test::has(huge.text, "a frame of 4294967295 bytes"));
  // An answer of 100 MB is one too, whatever it holds.
  CHECK(trouble_over("long_log").kind == Kind::babbled);
}

TEST_CASE("one that hangs and ignores SIGTERM is killed soon after its deadline") {
  ProcessSession session = compiler();
  REQUIRE(session.greet(kLong).has_value());
  const Stopwatch watch;
  const auto answer = session.ask(source("hang"), kShort);
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().kind == Kind::hung);
  CHECK(answer.error().text == "no answer in 300 ms");
  CHECK(watch.milliseconds() >= 300);
  // A bound for a machine under load; `ending` is some milliseconds on an idle one.
  CHECK(session.ending() < milliseconds(1000));
}

TEST_CASE("100 MB on standard error are read and forgotten, but for the last words") {
  ProcessSession session = compiler();
  REQUIRE(session.greet(kLong).has_value());
  const auto answer = session.ask(source("flood"), kLong);
  REQUIRE(answer.has_value());
  CHECK(std::get<Compiled>(*answer).image.bytes == "flood");
  const auto dead = session.ask(source("segfault"), kLong);
  REQUIRE_FALSE(dead.has_value());
  CHECK(test::has(dead.error().text, "its last words: xxx"));
  CHECK(dead.error().text.size() < 400);
}

TEST_CASE("a program that is none, and one that cannot be started") {
  ProcessSession cat({"cat"});
  const auto hung = cat.greet(kShort);
  REQUIRE_FALSE(hung.has_value());
  CHECK(hung.error().kind == Kind::hung);
  ProcessSession echo({"echo", "hello"});
  CHECK(echo.greet(kLong).error().kind == Kind::babbled);
  ProcessSession nothing({"true"});
  CHECK(nothing.greet(kLong).error().text == "exit code 0");
  CHECK_THROWS_AS(ProcessSession({"/no/such/program"}), UserError);
}

}  // namespace fa_tune::test
