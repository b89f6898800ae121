#include "engine/tuner/loop/strategy_thread.hpp"

#include <initializer_list>
#include <latch>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace fa_tune::test {

using namespace fa_tune::search;
using namespace fa_tune::tuner;

namespace {

// Notes what it is told and asked; asks wait until they may go on.
class NotedStrategy final : public Strategy {
 public:
  std::string name() const override { return "noted"; }
  std::vector<Proposal> ask(int n) override {
    go_on.wait();
    if (n < 0) throw std::runtime_error("fewer than none");
    done += " ask " + std::to_string(n);
    return std::vector<Proposal>(static_cast<std::size_t>(n));
  }
  void tell(const Evaluation& told) override { done += " tell " + std::to_string(told.number); }
  void take(const Config&) override {}

  std::latch go_on{1};
  std::string done;
};

std::vector<Evaluation> trials(std::initializer_list<std::uint64_t> numbers) {
  std::vector<Evaluation> all;
  for (const std::uint64_t number : numbers) all.push_back({number, {}, false, {}, 0});
  return all;
}

StrategyThread::Asked taken(StrategyThread& thread, TaskQueue& queue) {
  for (;;) {
    if (auto asked = thread.take()) return std::move(*asked);
    queue.run_pending();
  }
}

}  // namespace

TEST_CASE("a strategy is told before it is asked, and its owner need not wait") {
  NotedStrategy strategy;
  TaskQueue queue;
  StrategyThread thread(strategy, queue);
  CHECK_FALSE(thread.busy());
  CHECK_FALSE(thread.take().has_value());
  thread.begin(trials({1, 2}), 3);
  CHECK(thread.busy());
  CHECK_FALSE(thread.take().has_value());  // it waits
  strategy.go_on.count_down();
  CHECK(taken(thread, queue).proposals->size() == 3);
  CHECK_FALSE(thread.busy());
  thread.begin(trials({3}), std::nullopt);
  CHECK_FALSE(taken(thread, queue).proposals.has_value());
  CHECK(strategy.done == " tell 1 tell 2 ask 3 tell 3");
  thread.begin({}, -1);
  thread.wait();
  CHECK_THROWS_WITH(thread.take(), "fewer than none");
  CHECK_FALSE(thread.busy());
}

}  // namespace fa_tune::test
