#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <thread>

#include <doctest/doctest.h>

#include "engine/kernel/compile/compiler.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::test {

using namespace fa_tune::kernel;

namespace {

// Notes the order of what it is asked; "wait" blocks until released, "throw" throws.
class GatedCompiler final : public Compiler {
 public:
  CompileOutcome compile(const CompileRequest& pool_request) override {
    std::unique_lock lock(mutex);
    order.push_back(pool_request.source.text);
    changed.notify_all();
    if (pool_request.source.text == "wait") changed.wait(lock, [this] { return open; });
    if (pool_request.source.text == "throw") throw MachineError("no disk");
    Compiled compiled;
    compiled.image.bytes = pool_request.source.text;
    return compiled;
  }
  std::string version() const override { return "gated"; }

  void wait_until_asked(std::size_t times) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return order.size() >= times; });
  }
  void release() {
    const std::lock_guard lock(mutex);
    open = true;
    changed.notify_all();
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> order;
  bool open = false;
};

CompileRequest pool_request(const std::string& text) { return {{text, "k", ""}, "sm_89", {}, {}}; }

}  // namespace

TEST_CASE("pool: one thread compiles in the order asked") {
  GatedCompiler compiler;
  CompilePool pool(compiler, 0);  // counts as one
  std::vector<std::future<CompileOutcome>> futures;
  futures.push_back(pool.submit(pool_request("wait")));
  std::vector<std::string> expected = {"wait"};
  for (int i = 0; i < 20; ++i) {
    expected.push_back(std::to_string(i));
    futures.push_back(pool.submit(pool_request(expected.back())));
  }
  compiler.release();
  for (std::size_t i = 0; i < futures.size(); ++i)
    CHECK(futures[i].get()->image.bytes == expected[i]);
  CHECK(compiler.order == expected);
}

TEST_CASE("pool: several threads compile at once") {
  GatedCompiler compiler;
  CompilePool pool(compiler, 2);
  auto first = pool.submit(pool_request("wait"));
  auto second = pool.submit(pool_request("wait"));
  compiler.wait_until_asked(2);  // would hang with one thread
  compiler.release();
  CHECK(first.get().has_value());
  CHECK(second.get().has_value());
}

TEST_CASE("pool: more threads can join, and what waits is theirs") {
  GatedCompiler compiler;
  CompilePool pool(compiler, 1);
  auto first = pool.submit(pool_request("wait"));
  auto second = pool.submit(pool_request("wait"));
  pool.grow(2);
  compiler.wait_until_asked(2);  // would hang with one thread
  pool.grow(1);
  compiler.release();
  CHECK(first.get().has_value());
  CHECK(second.get().has_value());
}

TEST_CASE("pool: threads are begun as they are needed") {
  const auto threads = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
  };
  GatedCompiler compiler;
  const auto before = threads();
  CompilePool pool(compiler, 100);
  CHECK(threads() == before);
  auto first = pool.submit(pool_request("wait"));
  auto second = pool.submit(pool_request("wait"));
  compiler.wait_until_asked(2);
  CHECK(threads() == before + 2);
  compiler.release();
  CHECK(first.get().has_value());
  CHECK(second.get().has_value());
}

TEST_CASE("pool: its end drops what waits, waits for what runs, and passes exceptions on") {
  GatedCompiler compiler;
  auto pool = std::make_unique<CompilePool>(compiler, 1);
  auto thrown = pool->submit(pool_request("throw"));
  auto running = pool->submit(pool_request("wait"));
  compiler.wait_until_asked(2);
  std::vector<std::future<CompileOutcome>> waiting;
  waiting.reserve(5);
  for (int i = 0; i < 5; ++i) waiting.push_back(pool->submit(pool_request("later")));
  std::jthread ender([&] { pool.reset(); });
  // The dropped ones are told while the running one still runs.
  for (auto& future : waiting) CHECK_THROWS_AS((void)future.get(), std::future_error);
  compiler.release();
  CHECK(running.get().has_value());
  CHECK_THROWS_AS((void)thrown.get(), MachineError);
  ender.join();
  CHECK(compiler.order == std::vector<std::string>{"throw", "wait"});
}

TEST_CASE("pool: what waits can be dropped, and more be asked for") {
  GatedCompiler compiler;
  CompilePool pool(compiler, 1);
  auto running = pool.submit(pool_request("wait"));
  compiler.wait_until_asked(1);
  auto dropped = pool.submit(pool_request("later"));
  pool.cancel_waiting();
  CHECK_THROWS_AS((void)dropped.get(), std::future_error);
  auto after = pool.submit(pool_request("after"));
  compiler.release();
  CHECK(running.get().has_value());
  CHECK(after.get().has_value());
  CHECK(compiler.order == std::vector<std::string>{"wait", "after"});
}

TEST_CASE("pool: it says when a future has become ready") {
  GatedCompiler compiler;
  std::promise<void> said;
  CompilePool pool(compiler, 1, [&] { said.set_value(); });
  auto done = pool.submit(pool_request("now"));
  REQUIRE(said.get_future().wait_for(std::chrono::seconds(60)) == std::future_status::ready);
  CHECK(done.wait_for(std::chrono::seconds(0)) == std::future_status::ready);
}

TEST_CASE("pool: asked from many threads, every future is answered") {
  GatedCompiler compiler;
  std::atomic<int> right = 0;
  {
    CompilePool pool(compiler, 4);
    std::vector<std::jthread> askers;
    askers.reserve(4);
    for (int t = 0; t < 4; ++t)
      askers.emplace_back([&, t] {
        for (int i = 0; i < 100; ++i) {
          const std::string text = std::to_string(t * 1000 + i);
          if (pool.submit(pool_request(text)).get()->image.bytes == text) ++right;
        }
      });
  }
  CHECK(right == 400);
}

}  // namespace fa_tune::test
