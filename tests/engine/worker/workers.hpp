#pragma once

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <unistd.h>

#include "engine/model/kernel_image.hpp"
#include "engine/worker/remote_device.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

// Starts the test's own worker, bad_worker.cpp.
inline std::vector<std::string> bad_worker(const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {FA_TUNE_BAD_WORKER};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

// Where the workers of one test remember what they did.
class WorkerMemory {
 public:
  WorkerMemory() { setenv("FA_TUNE_BAD_WORKER_FOLDER", folder_.path().c_str(), 1); }
  ~WorkerMemory() { unsetenv("FA_TUNE_BAD_WORKER_FOLDER"); }
  WorkerMemory(const WorkerMemory&) = delete;
  WorkerMemory& operator=(const WorkerMemory&) = delete;

 private:
  ScratchFolder folder_;
};

// data[i] += 1 for 64 threads of one block. `accident` is what its launch does to the process.
inline KernelImage counting_kernel(const std::string& accident = "none") {
  return {BinaryKind::ptx,
          "sm_89",
          accident + ":count",
          R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry count(.param .u64 data) {
  .reg .b32 %r<4>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [data];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd3, %rd1, %rd2;
  ld.global.u32 %r2, [%rd3];
  add.u32 %r2, %r2, 1;
  st.global.u32 [%rd3], %r2;
  ret;
}
)",
          {}};
}

// The processes that this one has started and not yet waited for.
inline std::vector<pid_t> children() {
  std::vector<pid_t> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    std::ifstream file(entry.path() / "stat");
    std::string text;
    std::getline(file, text);
    const std::size_t name_end = text.rfind(')');
    if (name_end == std::string::npos) continue;
    std::istringstream rest(text.substr(name_end + 1));
    std::string state;
    pid_t parent = 0;
    if (rest >> state >> parent && parent == getpid() && state != "Z")
      found.push_back(std::stoi(entry.path().filename().string()));
  }
  return found;
}

inline void kill_children(int signal = SIGKILL) {
  for (const pid_t child : children()) kill(child, signal);
}

}  // namespace fa_tune::test
