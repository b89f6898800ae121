#include "engine/kernel/compile/compiler_group.hpp"

#include <future>
#include <map>
#include <thread>

#include <doctest/doctest.h>

#include "engine/util/stopwatch.hpp"

namespace fa_tune::test {

using namespace fa_tune::kernel;
using namespace std::chrono_literals;

namespace {

// Says in the outcome which it is, and holds what it is asked until it is let go on.
class HeldCompiler final : public Compiler {
 public:
  explicit HeldCompiler(std::string name, std::string version = "v1", std::string headers = "h1")
      : name_(std::move(name)), version_(std::move(version)), headers_(std::move(headers)) {}

  CompileOutcome compile(const CompileRequest& request) override {
    std::unique_lock lock(mutex_);
    asked_.push_back(request.source.text);
    changed_.notify_all();
    // Not for ever, so that a test that fails ends.
    changed_.wait_for(lock, 60s, [this] { return let_go_ || gone_; });
    if (gone_) throw CompilerGone(name_ + " is gone");
    if (request.source.text == "bad") throw MachineError("no disk");
    Compiled compiled;
    compiled.image.bytes = name_;
    return compiled;
  }
  std::string version() const override { return version_; }
  std::string headers() const override { return headers_; }

  void let_go() { set(let_go_); }
  void be_gone() { set(gone_); }
  std::vector<std::string> wait_until_asked(std::size_t times) {
    std::unique_lock lock(mutex_);
    REQUIRE(changed_.wait_for(lock, 60s, [&] { return asked_.size() >= times; }));
    return asked_;
  }
  std::vector<std::string> asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  void set(bool& flag) {
    const std::lock_guard lock(mutex_);
    flag = true;
    changed_.notify_all();
  }

  std::string name_, version_, headers_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> asked_;
  bool let_go_ = false;
  bool gone_ = false;
};

// Who compiled it.
std::future<std::string> ask(CompilerGroup& group, const std::string& text) {
  return std::async(std::launch::async, [&group, text]() -> std::string {
    const auto outcome = group.compile({{text, "k", ""}, "sm_89", {}, {}});
    return outcome ? outcome->image.bytes : "failed";
  });
}

CompilerGroup::Options impatient() { return {100ms, "a helper"}; }

}  // namespace

TEST_CASE("group: each source goes to who has most of its places free, and to one alone") {
  CompilerGroup group({});
  const auto one = std::make_shared<HeldCompiler>("one");
  const auto two = std::make_shared<HeldCompiler>("two");
  CHECK(group.version().empty());
  REQUIRE(group.add(one, 2).has_value());
  REQUIRE(group.add(two, 2).has_value());
  CHECK(group.version() == "v1");
  CHECK(group.headers() == "h1");
  CHECK(group.size() == 4);
  std::vector<std::future<std::string>> asked;
  asked.push_back(ask(group, "a"));
  one->wait_until_asked(1);
  asked.push_back(ask(group, "b"));
  two->wait_until_asked(1);
  asked.push_back(ask(group, "c"));
  one->wait_until_asked(2);
  asked.push_back(ask(group, "d"));
  two->wait_until_asked(2);
  // More than there are places for; those wait, in the order asked.
  asked.push_back(ask(group, "e"));
  std::this_thread::sleep_for(50ms);
  CHECK(one->asked().size() + two->asked().size() == 4);
  one->let_go();
  CHECK(one->wait_until_asked(3) == std::vector<std::string>{"a", "c", "e"});
  two->let_go();
  std::map<std::string, int> by;
  for (auto& each : asked) ++by[each.get()];
  CHECK(by == std::map<std::string, int>{{"one", 3}, {"two", 2}});
}

TEST_CASE("group: what a member that is gone was at goes to another one, ahead of who waits") {
  CompilerGroup group({});
  const auto stays = std::make_shared<HeldCompiler>("stays");
  const auto goes = std::make_shared<HeldCompiler>("goes");
  REQUIRE(group.add(stays, 1).has_value());
  REQUIRE(group.add(goes, 1).has_value());
  auto first = ask(group, "a");
  stays->wait_until_asked(1);
  auto second = ask(group, "b");
  goes->wait_until_asked(1);
  auto third = ask(group, "c");
  std::this_thread::sleep_for(50ms);
  goes->be_gone();
  while (group.size() > 1) std::this_thread::sleep_for(1ms);
  // The place in the line is taken again a moment later.
  std::this_thread::sleep_for(100ms);
  stays->let_go();
  CHECK(second.get() == "stays");
  CHECK(third.get() == "stays");
  CHECK(first.get() == "stays");
  CHECK(stays->asked() == std::vector<std::string>{"a", "b", "c"});
  CHECK(goes->asked() == std::vector<std::string>{"b"});
  CHECK_FALSE(group.remove(*goes));
  // What else a member throws is told to who asked.
  auto bad = ask(group, "bad");
  CHECK_THROWS_WITH_AS((void)bad.get(), "no disk", MachineError);
  CHECK(group.size() == 1);
}

TEST_CASE("group: who would make other code is refused, with both versions") {
  CompilerGroup group({});
  REQUIRE(group.add(std::make_shared<HeldCompiler>("one", "NVRTC 13.0.88"), 1).has_value());
  const auto other = group.add(std::make_shared<HeldCompiler>("two", "NVRTC 12.9.86"), 1);
  REQUIRE_FALSE(other.has_value());
  CHECK(other.error() ==
        "it has NVRTC 12.9.86 and the search has NVRTC 13.0.88, which makes other code");
  const auto headers = group.add(std::make_shared<HeldCompiler>("two", "NVRTC 13.0.88", ""), 1);
  REQUIRE_FALSE(headers.has_value());
  CHECK(headers.error() ==
        "its NVRTC 13.0.88 has other headers of the CUDA toolkit than the search's NVRTC 13.0.88");
  CHECK(group.size() == 1);
  CompilerGroup resumed({});
  resumed.require_version("NVRTC 13.0.88");
  CHECK_FALSE(resumed.add(std::make_shared<HeldCompiler>("two", "NVRTC 12.9.86"), 1).has_value());
  CHECK(resumed.add(std::make_shared<HeldCompiler>("one", "NVRTC 13.0.88"), 1).has_value());
}

TEST_CASE("group: who finds no member waits for one, for as long as it was told") {
  CompilerGroup group({60s, "a helper"});
  const auto late = std::make_shared<HeldCompiler>("late");
  late->let_go();
  int told = 0;
  group.on_arrival([&](int size) { told = size; });
  auto waiting = ask(group, "a");
  std::this_thread::sleep_for(100ms);
  REQUIRE(group.add(late, 4).has_value());
  CHECK(told == 4);
  CHECK(waiting.get() == "late");

  CompilerGroup none(impatient());
  const Stopwatch watch;
  auto given_up = ask(none, "a");
  CHECK_THROWS_WITH_AS((void)given_up.get(), doctest::Contains("no compiler is left"),
                       NoCompilerLeft);
  CHECK(watch.milliseconds() >= 100);
}

TEST_CASE("group: waits end with the search, and where they are not wanted any more") {
  std::atomic<bool> stop{false};
  CompilerGroup group({60s, "a helper", &stop});
  auto cancelled = ask(group, "a");
  // A call that has not come in yet would not be cancelled.
  while (cancelled.wait_for(20ms) != std::future_status::ready) group.cancel_waiting();
  CHECK_THROWS_AS((void)cancelled.get(), Interrupted);
  auto stopped = ask(group, "b");
  stop = true;
  CHECK_THROWS_AS((void)stopped.get(), Interrupted);
  CHECK_FALSE(group.wait_for_first([&] { return stop.load(); }));
  // Whoever is compiled is not disturbed.
  const auto one = std::make_shared<HeldCompiler>("one");
  REQUIRE(group.add(one, 1).has_value());
  auto under_way = ask(group, "c");
  one->wait_until_asked(1);
  group.cancel_waiting();
  one->let_go();
  CHECK(under_way.get() == "one");
}

TEST_CASE("group: it knows how many compilers there were, and for how long") {
  CompilerGroup group({});
  const auto one = std::make_shared<HeldCompiler>("one");
  CHECK(group.presence().seconds == 0);
  REQUIRE(group.add(one, 3).has_value());
  std::this_thread::sleep_for(100ms);
  CHECK(group.remove(*one));
  const auto [most, seconds] = group.presence();
  CHECK(most == 3);
  CHECK(seconds >= 0.3);
  std::this_thread::sleep_for(20ms);
  CHECK(group.presence().seconds == seconds);
}

}  // namespace fa_tune::test
