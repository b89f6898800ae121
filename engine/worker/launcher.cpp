#include "engine/worker/launcher.hpp"

#include <future>
#include <thread>

#include <unistd.h>

#include "engine/util/blocking_queue.hpp"

namespace fa_tune {
namespace {

using Task = std::packaged_task<std::unique_ptr<Process>()>;

class LastingThread {
 public:
  LastingThread() : thread_([this] { work(); }) {}
  ~LastingThread() {
    tasks_.close();
    thread_.join();
  }
  LastingThread(const LastingThread&) = delete;
  LastingThread& operator=(const LastingThread&) = delete;

  std::unique_ptr<Process> run(Task task) {
    auto result = task.get_future();
    tasks_.push(std::move(task));
    return result.get();
  }

 private:
  void work() {
    while (auto task = tasks_.pop()) (*task)();
  }

  BlockingQueue<Task> tasks_;
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
