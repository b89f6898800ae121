#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <sys/types.h>

#include "engine/device/device.hpp"
#include "engine/kernel/compile/compiler.hpp"
#include "engine/worker/messages.hpp"

namespace fa_tune::worker {

// The worker's end of the pipes. Made first thing in a worker process: from then on what anything
// prints to standard output goes to standard error, and the process is killed when its parent ends.
class WorkerEnd {
 public:
  // `parent` as the engine gave it; 0 for none, for a worker that a person started.
  explicit WorkerEnd(pid_t parent);

  void send(const message::Answer& answer);
  // The next request; nothing once the engine has closed its end. Throws std::runtime_error for
  // what is none.
  std::optional<message::Request> receive();

 private:
  int out_ = -1;
  FrameReader reader_;
};

// What these answer, an exception included, as the worker's answer to a request.
message::Answer answer_to(const std::function<message::Answer()>& call);

// Each opens what the worker is for, says so, narrows what this process may do (sandbox.hpp), and
// answers until the engine has no more to ask. They return the process's exit code.
struct DeviceWork {
  std::function<std::unique_ptr<device::Device>()> open;
  bool health = false;       // whether it still computes, asked before it is said to be open
  bool emulated = false;     // nothing of a driver's: the strict limits
  std::uint64_t memory = 0;  // limit_worker
};
struct CompilerWork {
  std::vector<std::filesystem::path> places;  // limit_privileges
  std::function<std::unique_ptr<kernel::Compiler>()> open;
  std::function<std::vector<std::filesystem::path>()> readable;  // once it is open
  std::uint64_t memory = 0;
};
int serve_device(WorkerEnd& end, const DeviceWork& work);
int serve_compiler(WorkerEnd& end, const CompilerWork& work);
int serve_list(WorkerEnd& end, const std::function<std::vector<device::DeviceInfo>()>& list);

}  // namespace fa_tune::worker
