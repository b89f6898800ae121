#pragma once

#include <chrono>
#include <future>
#include <optional>
#include <thread>
#include <vector>

#include "engine/search/strategy.hpp"
#include "engine/tuner/loop/task_queue.hpp"

namespace fa_tune::tuner {

// Tells and asks a strategy on a thread of its own, one thing at a time, while the queue's owner
// does something else: a model of many trials takes as long as all else. All members are for the
// owner.
class StrategyThread {
 public:
  struct Asked {
    std::optional<std::vector<search::Proposal>> proposals;  // none if it was told alone
    double seconds = 0;
  };

  // Both must outlive it. Nobody else may use the strategy meanwhile.
  StrategyThread(search::Strategy& strategy, TaskQueue& queue)
      : strategy_(strategy), queue_(queue) {}

  // Tells it these, then asks for `ask` proposals, if that is anything. Wakes the queue when it is
  // done. Only while it is not busy().
  void begin(std::vector<search::Evaluation> told, std::optional<int> ask);
  // Something was begun and not taken.
  bool busy() const { return asked_.valid(); }
  // It is done by now: take() has it.
  bool done() const {
    return busy() && asked_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  // What came of it, once it is done; nothing until then. Throws what the strategy threw.
  std::optional<Asked> take();
  // Until it is done.
  void wait() const {
    if (busy()) asked_.wait();
  }

 private:
  search::Strategy& strategy_;
  TaskQueue& queue_;
  std::future<Asked> asked_;
  std::jthread thread_;  // last: it ends before all else does
};

}  // namespace fa_tune::tuner
