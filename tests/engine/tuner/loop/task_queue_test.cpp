#include "engine/tuner/loop/task_queue.hpp"

#include <stdexcept>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

namespace fa_tune::test {

using namespace fa_tune::tuner;

TEST_CASE("what is left at a queue is done in order, by its owner") {
  TaskQueue queue;
  std::vector<int> done;
  std::thread other([&] {
    for (int i = 0; i < 100; ++i) queue.post([&done, i] { done.push_back(i); });
  });
  while (done.size() < 100) queue.run_pending();
  other.join();
  for (int i = 0; i < 100; ++i) CHECK(done[static_cast<std::size_t>(i)] == i);
  queue.wake();
  queue.run_pending();  // does not wait
}

TEST_CASE("what a task throws comes out, and what is behind it stays") {
  TaskQueue queue;
  bool done = false;
  queue.post([] { throw std::runtime_error("no"); });
  queue.post([&] { done = true; });
  CHECK_THROWS_AS(queue.run_pending(), std::runtime_error);
  CHECK_FALSE(done);
  queue.run_pending();
  CHECK(done);
  done = false;
  queue.post([&] { done = true; });
  queue.drop();
  queue.wake();
  queue.run_pending();
  CHECK_FALSE(done);
}

TEST_CASE("waiting at a queue is not being busy") {
  TaskQueue queue;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    queue.wake();
  });
  const Stopwatch watch;
  queue.run_pending();
  const double passed_ms = watch.milliseconds();
  CHECK(queue.busy_ms() < passed_ms);
  other.join();
}

}  // namespace fa_tune::test
