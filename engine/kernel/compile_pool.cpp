#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "engine/kernel/compiler.hpp"

namespace fa_tune {

struct CompilePool::State {
  State(Compiler& with, std::function<void()> then) : compiler(with), finished(std::move(then)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // Here and not in the pool, so that threads also end where starting the next one failed.
  ~State() {
    std::deque<std::packaged_task<CompileOutcome()>> dropped;
    {
      const std::lock_guard lock(mutex);
      stopping = true;
      dropped.swap(waiting);
    }
    changed.notify_all();
    // Their futures learn of it now, not after the compiles under way.
    dropped.clear();
    threads.clear();
  }

  void work() {
    for (;;) {
      std::packaged_task<CompileOutcome()> task;
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [this] { return stopping || !waiting.empty(); });
        if (stopping) return;
        task = std::move(waiting.front());
        waiting.pop_front();
      }
      task();
      if (finished) finished();
    }
  }

  Compiler& compiler;
  std::function<void()> finished;
  std::mutex mutex;  // guards the two below
  std::deque<std::packaged_task<CompileOutcome()>> waiting;
  bool stopping = false;
  std::condition_variable changed;
  std::vector<std::jthread> threads;
};

CompilePool::CompilePool(Compiler& compiler, int threads, std::function<void()> finished)
    : state_(std::make_unique<State>(compiler, std::move(finished))) {
  for (int i = 0; i < std::max(threads, 1); ++i)
    state_->threads.emplace_back([state = state_.get()] { state->work(); });
}

CompilePool::~CompilePool() = default;

std::future<CompileOutcome> CompilePool::submit(CompileRequest request) {
  std::packaged_task<CompileOutcome()> task(
      [this_state = state_.get(), asked = std::move(request)] {
        return this_state->compiler.compile(asked);
      });
  std::future<CompileOutcome> future = task.get_future();
  {
    const std::lock_guard lock(state_->mutex);
    state_->waiting.push_back(std::move(task));
  }
  state_->changed.notify_one();
  return future;
}

void CompilePool::drop_waiting() {
  std::deque<std::packaged_task<CompileOutcome()>> dropped;
  const std::lock_guard lock(state_->mutex);
  dropped.swap(state_->waiting);
}

}  // namespace fa_tune
