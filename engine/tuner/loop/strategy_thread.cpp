#include "engine/tuner/loop/strategy_thread.hpp"

#include <exception>
#include <utility>

#include "engine/util/stopwatch.hpp"

namespace fa_tune::tuner {

void StrategyThread::begin(std::vector<search::Evaluation> told, std::optional<int> ask) {
  std::promise<Asked> promise;
  asked_ = promise.get_future();
  thread_ = std::jthread([this, ask, news = std::move(told), done = std::move(promise)]() mutable {
    try {
      const Stopwatch watch;
      Asked asked;
      for (const search::Evaluation& each : news) strategy_.tell(each);
      if (ask) asked.proposals = strategy_.ask(*ask);
      asked.seconds = watch.milliseconds() / 1000;
      done.set_value(std::move(asked));
    } catch (...) {
      done.set_exception(std::current_exception());
    }
    queue_.wake();
  });
}

std::optional<StrategyThread::Asked> StrategyThread::take() {
  if (!done()) return std::nullopt;
  return asked_.get();
}

}  // namespace fa_tune::tuner
