#include <algorithm>
#include <mutex>
#include <system_error>
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
    compiler.cancel_waiting();
    threads.clear();
  }

  void grow(int count) {
    const std::lock_guard lock(mutex);
    try {
      while (threads.size() < static_cast<std::size_t>(count))
        threads.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      // Those that the system gives do all of the work.
      if (threads.empty()) throw;
    }
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
  std::mutex mutex;  // guards threads
  std::vector<std::jthread> threads;
};

CompilePool::CompilePool(Compiler& compiler, int threads, std::function<void()> finished)
    : state_(std::make_unique<State>(compiler, std::move(finished))) {
  state_->grow(std::max(threads, 1));
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

void CompilePool::cancel_waiting() {
  state_->waiting.take_all();
  state_->compiler.cancel_waiting();
}

void CompilePool::grow(int threads) { state_->grow(threads); }

}  // namespace fa_tune::kernel
