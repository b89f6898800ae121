#include "engine/worker/launcher.hpp"

#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <thread>

#include <unistd.h>

namespace fa_tune {
namespace {

using Task = std::packaged_task<std::unique_ptr<Process>()>;

class LastingThread {
 public:
  LastingThread() : thread_([this] { work(); }) {}
  ~LastingThread() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  LastingThread(const LastingThread&) = delete;
  LastingThread& operator=(const LastingThread&) = delete;

  std::unique_ptr<Process> run(Task task) {
    auto result = task.get_future();
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(std::move(task));
    }
    changed_.notify_all();
    return result.get();
  }

 private:
  void work() {
    for (;;) {
      Task task;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
        if (waiting_.empty()) return;
        task = std::move(waiting_.front());
        waiting_.pop_front();
      }
      task();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> waiting_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace

std::vector<std::string> worker_words(const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {"/proc/self/exe", "worker", "--parent",
                                    std::to_string(getpid())};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

std::unique_ptr<Process> start_lasting(const std::vector<std::string>& words,
                                       std::span<const int> given) {
  static LastingThread thread;
  return thread.run(Task([&] { return std::make_unique<Process>(words, given); }));
}

}  // namespace fa_tune
