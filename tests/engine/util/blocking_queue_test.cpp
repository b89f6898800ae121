#include "engine/util/blocking_queue.hpp"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

namespace fa_tune::test {

TEST_CASE("queue: items come out in their order, and what is left when it closes still does") {
  BlockingQueue<std::unique_ptr<int>> queue;
  CHECK_FALSE(queue.try_pop());
  for (int i = 0; i < 3; ++i) queue.push(std::make_unique<int>(i));
  CHECK(**queue.pop() == 0);
  queue.close();
  CHECK(**queue.pop() == 1);
  CHECK(**queue.try_pop() == 2);
  CHECK_FALSE(queue.pop());
}

TEST_CASE("queue: all that waits can be taken at once") {
  BlockingQueue<int> queue;
  for (int i = 0; i < 4; ++i) queue.push(i);
  CHECK(queue.take_all() == std::deque<int>{0, 1, 2, 3});
  CHECK_FALSE(queue.try_pop());
}

TEST_CASE("queue: many threads take each item once, and all of them end when it is closed") {
  constexpr int kItems = 2000;
  BlockingQueue<int> queue;
  std::atomic<int> taken{0}, sum{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      while (const auto item = queue.pop()) {
        ++taken;
        sum += *item;
      }
    });
  for (int i = 0; i < kItems; ++i) queue.push(i);
  queue.close();
  threads.clear();
  CHECK(taken == kItems);
  CHECK(sum == kItems * (kItems - 1) / 2);
}

}  // namespace fa_tune::test
