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
    most = std::max(most, static_cast<std::size_t>(count));
    add_threads();
  }

  void push(std::packaged_task<CompileOutcome()> task) {
    const std::lock_guard lock(mutex);
    // Counted before a thread can be done with it.
    ++unfinished;
    waiting.push(std::move(task));
    add_threads();
  }

  // One for each task, as long as there may be more: the compilers of a cluster are thousands.
  void add_threads() {
    try {
      while (threads.size() < std::min(most, unfinished)) threads.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      // Those that the system gives do all of the work.
      if (threads.empty()) throw;
    }
  }

  void work() {
    while (auto task = waiting.pop()) {
      (*task)();
      {
        const std::lock_guard lock(mutex);
        --unfinished;
      }
      if (finished) finished();
    }
  }

  void drop_waiting() {
    const std::size_t dropped = waiting.take_all().size();
    const std::lock_guard lock(mutex);
    unfinished -= dropped;
  }

  Compiler& compiler;
  std::function<void()> finished;
  BlockingQueue<std::packaged_task<CompileOutcome()>> waiting;
  std::mutex mutex;  // guards all below
  std::size_t most = 0;
  std::size_t unfinished = 0;  // tasks
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
  state_->push(std::move(task));
  return future;
}

void CompilePool::cancel_waiting() {
  state_->drop_waiting();
  state_->compiler.cancel_waiting();
}

void CompilePool::grow(int threads) { state_->grow(threads); }

}  // namespace fa_tune::kernel
