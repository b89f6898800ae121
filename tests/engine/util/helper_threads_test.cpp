#include "engine/util/helper_threads.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using fa_tune::HelperThreads;

TEST_CASE("helper threads do each piece of work once") {
  HelperThreads helpers(3);
  for (const std::size_t count : std::vector<std::size_t>{0, 1, 2, 3, 7, 1000})
    for (int again = 0; again < 50; ++again) {
      std::vector<int> done(count, 0);
      helpers.share(count, [&](std::size_t i) { ++done[i]; });
      CHECK(std::accumulate(done.begin(), done.end(), std::size_t{0}) == count);
      CHECK(done == std::vector<int>(count, 1));
    }
}

TEST_CASE("a helper takes a part, and is waited for once it has begun") {
  if (std::thread::hardware_concurrency() < 2) {
    MESSAGE("skipped: there is one processor");
    return;
  }
  HelperThreads helpers(1);
  const auto caller = std::this_thread::get_id();
  for (int again = 0; again < 3; ++again) {
    std::mutex mutex;
    std::condition_variable met;
    int here = 0;
    std::atomic<bool> helped = false;
    // Neither of the two pieces ends before the other has begun.
    helpers.share(2, [&](std::size_t) {
      {
        std::unique_lock lock(mutex);
        ++here;
        met.notify_all();
        REQUIRE(met.wait_for(lock, std::chrono::seconds(10), [&] { return here == 2; }));
      }
      if (std::this_thread::get_id() == caller) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      helped = true;
    });
    CHECK(helped);
    // By now it sleeps, and has to be woken.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

TEST_CASE("without helpers all is done by the caller") {
  HelperThreads none(0);
  const auto caller = std::this_thread::get_id();
  none.share(5, [&](std::size_t) { CHECK(std::this_thread::get_id() == caller); });
}

TEST_CASE("what a piece of work throws comes out, and the helpers can be used again") {
  HelperThreads helpers(3);
  for (std::size_t bad = 0; bad < 8; ++bad) {
    const auto work = [bad](std::size_t i) {
      if (i == bad) throw std::runtime_error("piece");
    };
    CHECK_THROWS_WITH(helpers.share(8, work), "piece");
    std::atomic<int> done = 0;
    helpers.share(8, [&](std::size_t) { ++done; });
    CHECK(done == 8);
  }
}
