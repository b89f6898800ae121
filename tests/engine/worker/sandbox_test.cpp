#include "engine/worker/sandbox.hpp"

#include <cstdlib>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "engine/worker/remote_device.hpp"
#include "tests/engine/worker/workers.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::worker;

namespace {

// What a worker says of something that it tries in a launch.
class Tries {
 public:
  explicit Tries(const std::vector<std::string>& more) {
    setenv("BAD_WORKER_FOLDER", folder_.path().c_str(), 1);
    RemoteOptions options;
    options.words = test::bad_worker({"--device", "l4"});
    options.words.insert(options.words.end(), more.begin(), more.end());
    options.deadlines = Deadlines::of_emulator();
    device_ = open_remote(options);
  }
  ~Tries() { unsetenv("BAD_WORKER_FOLDER"); }
  Tries(const Tries&) = delete;
  Tries& operator=(const Tries&) = delete;

  std::string operator()(const std::string& what) {
    Launch launch;
    launch.kernel = device_->load(test::counting_kernel(what)).value();
    return device_->launch(launch).error().message;
  }

 private:
  test::ScratchFolder folder_;
  std::unique_ptr<Device> device_;
};

constexpr const char* kRefused = "Operation not permitted";

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kLimited = false;
#else
constexpr bool kLimited = true;
#endif

}  // namespace

TEST_CASE("an interpreter's worker computes, and nothing else" *
          doctest::test_suite("conditional")) {
  if (!kLimited) return test::skip("workers have no filter under a sanitizer");
  Tries tries({});
  CHECK(tries("try_thread") == "done");
  CHECK(tries("try_read") == "done");
  for (const char* what :
       {"try_exec", "try_fork", "try_socket", "try_kill", "try_trace", "try_write", "try_remove"}) {
    CAPTURE(what);
    CHECK(tries(what) == kRefused);
  }
  CHECK(tries("try_memory") == "no memory");
}

TEST_CASE("a driver's worker may open files, but starts no programs and reaches no other machine" *
          doctest::test_suite("conditional")) {
  if (!kLimited) return test::skip("workers have no filter under a sanitizer");
  Tries tries({"--driver"});
  CHECK(tries("try_thread") == "done");
  CHECK(tries("try_write") == "done");
  for (const char* what : {"try_exec", "try_socket", "try_kill", "try_trace", "try_remove"}) {
    CAPTURE(what);
    CHECK(tries(what) == kRefused);
  }
}

}  // namespace fa_tune::test
