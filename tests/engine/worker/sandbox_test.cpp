#include "engine/worker/sandbox.hpp"

#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/util/environment.hpp"
#include "engine/util/file.hpp"
#include "engine/worker/path_limits.hpp"
#include "engine/worker/remote_compiler.hpp"
#include "engine/worker/remote_device.hpp"
#include "tests/engine/worker/hostile_actions.hpp"
#include "tests/engine/worker/workers.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::worker;

namespace {

constexpr const char* kRefused = "Operation not permitted";
constexpr const char* kNoSuchPath = "Permission denied";  // for Landlock
constexpr const char* kNoMemory = "Cannot allocate memory";

// What becomes of an action, where that is not kRefused.
using Outcomes = std::map<std::string, std::string>;

// Honest work, and the one call that looks as if the kernel were older.
const Outcomes kCommon = {{"thread", "done"},
                          {"limit_got", "done"},
                          {"memory", "done"},
                          {"clone3", "Function not implemented"}};

Outcomes with_common(Outcomes outcomes) {
  outcomes.insert(kCommon.begin(), kCommon.end());
  return outcomes;
}

const Outcomes kInterpreter =
    with_common({{"memory_promised", kNoMemory}, {"memory_private", kNoMemory}});

const Outcomes kCompiler = with_common({{"memory_promised", kNoMemory},
                                        {"memory_private", kNoMemory},
                                        {"read", kNoSuchPath},
                                        {"read_system", kNoSuchPath},
                                        {"read_users", kNoSuchPath},
                                        {"list_shared_memory", kNoSuchPath},
                                        {"list", kNoSuchPath},
                                        {"memory_of_engine", kNoSuchPath},
                                        {"environment_of_engine", kNoSuchPath}});

// The filter lets a driver open files as it likes; which ones, paths say.
const Outcomes kDriver = with_common({{"read_system", "done"},
                                      {"memory_promised", "done"},
                                      {"memory_private", "done"},
                                      {"memory_shared", "done"},
                                      {"read", kNoSuchPath},
                                      {"list", kNoSuchPath},
                                      {"read_users", kNoSuchPath},
                                      {"list_shared_memory", kNoSuchPath},
                                      {"write", kNoSuchPath},
                                      {"read_and_write", kNoSuchPath},
                                      {"open_of_old", kNoSuchPath},
                                      {"memory_of_engine", kNoSuchPath},
                                      {"environment_of_engine", kNoSuchPath}});

// A file that a worker is to leave as it is, and where it lies.
class Victim {
 public:
  Victim() {
    setenv("FA_TUNE_BAD_WORKER_FOLDER", folder_.path().c_str(), 1);
    write_file(folder_ / "victim", kText);
    // Not before the worker has begun is its memory of others there (bad_worker.cpp).
    write_file(folder_ / "memory", std::string(64, '\0'));
  }
  ~Victim() { unsetenv("FA_TUNE_BAD_WORKER_FOLDER"); }
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;

  bool is_whole() const {
    std::size_t files = 0;
    for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator(folder_.path()))
      ++files;
    return files == 2 && read_file(folder_ / "victim") == kText;
  }

 private:
  static constexpr const char* kText = "nobody's business";
  test::ScratchFolder folder_;
};

using Try = std::function<std::string(const std::string& action)>;

void check_actions(const Try& try_it, const Outcomes& expected) {
  const Victim victim;
  std::size_t refused = 0;
  for (const std::string& action : actions()) {
    CAPTURE(action);
    const auto special = expected.find(action);
    const std::string outcome = try_it(action);
    CHECK(outcome == (special == expected.end() ? kRefused : special->second));
    refused += outcome != "done";
    CHECK(victim.is_whole());
  }
  CHECK(refused > 80);
}

// In a launch, where a kernel could.
void check_device(const std::vector<std::string>& words, const Outcomes& expected) {
  std::unique_ptr<Device> device;
  const auto in_a_launch = [&](const std::string& action) {
    if (device == nullptr) {
      RemoteOptions options;
      options.words = test::bad_worker(words);
      options.deadlines = Deadlines::of_emulator();
      device = open_remote(options);
    }
    Launch launch;
    launch.kernel = device->load(test::counting_kernel("try_" + action)).value();
    return device->launch(launch).error().message;
  };
  check_actions(in_a_launch, expected);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kLimited = false;
#else
constexpr bool kLimited = true;
#endif

bool cannot_be_tried() {
  if (kLimited && missing_limits().empty()) return false;
  test::skip("workers are not held to all of their limits here: a sanitizer, or an older kernel");
  return true;
}

}  // namespace

TEST_CASE("an interpreter's worker computes, and nothing else" *
          doctest::test_suite("conditional")) {
  if (cannot_be_tried()) return;
  check_device({"--device", "l4"}, kInterpreter);
}

TEST_CASE("a compiler's worker computes and reads what it is told, and nothing else" *
          doctest::test_suite("conditional")) {
  if (cannot_be_tried()) return;
  std::unique_ptr<kernel::Compiler> compiler;
  const auto in_a_compile = [&](const std::string& action) {
    if (compiler == nullptr) compiler = open_remote_compiler({test::bad_worker({"--compile"})});
    const auto outcome =
        compiler->compile({{"try_" + action, "k", ""}, "sm_89", BinaryKind::ptx, {}});
    return outcome.error().message;
  };
  check_actions(in_a_compile, kCompiler);
}

TEST_CASE("a driver's worker has its device, and reads the system's files" *
          doctest::test_suite("conditional")) {
  if (cannot_be_tried()) return;
  check_device({"--device", "l4", "--driver"}, kDriver);
}

TEST_CASE("a GPU's worker is a driver's" * doctest::test_suite("conditional")) {
  // Without that it is the test worker_gpu's to try it.
  const std::string device = environment("FA_TUNE_TEST_DEVICE");
  if (!device.starts_with("cuda")) return;
  if (!std::filesystem::exists("/dev/nvidiactl")) return test::skip("there is no NVIDIA GPU");
  if (cannot_be_tried()) return;
  check_device({"--device", device}, kDriver);
}

TEST_CASE("a worker gets few of the engine's variables" * doctest::test_suite("conditional")) {
  setenv("AWS_SECRET_ACCESS_KEY", "hunter2", 1);
  setenv("FA_TUNE_SOMETHING", "kept", 1);
  std::string all;
  for (const std::string& each : worker_environment()) all += each + "\n";
  CHECK_FALSE(test::has(all, "hunter2"));
  CHECK(test::has(all, "FA_TUNE_SOMETHING=kept"));
  unsetenv("AWS_SECRET_ACCESS_KEY");
  unsetenv("FA_TUNE_SOMETHING");
}

}  // namespace fa_tune::test
