#include <algorithm>
#include <thread>

#include "engine/kernel/compile/compiler.hpp"
#include "engine/util/blocking_queue.hpp"

namespace fa_tune::kernel {

struct CompilePool::State {
  State(Compiler& with, std::function<void()> then) : compiler(with), finished(std::move(then)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // Here and not in the pool, so that threads also end where starting the next one failed.
  ~State() {
    // Futures of what is dropped learn of it now, not after the compiles under way.
    waiting.take_all();
    waiting.close();
    threads.clear();
  }

  void work() {
    while (auto task = waiting.pop()) {
      (*task)();
      if (finished) finished();
    }
  }

  Compiler& compiler;
  std::function<void()> finished;
  BlockingQueue<std::packaged_task<CompileOutcome()>> waiting;
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
  state_->waiting.push(std::move(task));
  return future;
}

void CompilePool::cancel_waiting() { state_->waiting.take_all(); }

}  // namespace fa_tune::kernel
