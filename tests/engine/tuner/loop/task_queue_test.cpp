#include "engine/tuner/loop/task_queue.hpp"

#include <stdexcept>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using namespace fa_tune;

TEST_CASE("what is left at a desk is done in order, by its owner") {
  Desk desk;
  std::vector<int> done;
  std::thread other([&] {
    for (int i = 0; i < 100; ++i) desk.leave([&done, i] { done.push_back(i); });
  });
  while (done.size() < 100) desk.work();
  other.join();
  for (int i = 0; i < 100; ++i) CHECK(done[static_cast<std::size_t>(i)] == i);
  desk.wake();
  desk.work();  // does not wait
}

TEST_CASE("what a task throws comes out, and what is behind it stays") {
  Desk desk;
  bool done = false;
  desk.leave([] { throw std::runtime_error("no"); });
  desk.leave([&] { done = true; });
  CHECK_THROWS_AS(desk.work(), std::runtime_error);
  CHECK_FALSE(done);
  desk.work();
  CHECK(done);
}

TEST_CASE("waiting at a desk is not being busy") {
  Desk desk;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    desk.wake();
  });
  const Stopwatch watch;
  desk.work();
  const double passed_ms = watch.milliseconds();
  CHECK(desk.busy_ms() < passed_ms);
  other.join();
}
