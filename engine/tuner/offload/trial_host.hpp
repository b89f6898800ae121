#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "engine/device/offload_service.hpp"
#include "engine/tuner/task/make_problem.hpp"

namespace fa_tune::tuner {

struct TrialRun;

// The other end of offloaded trials (DeviceStages): takes kernels that were compiled elsewhere
// through GateAndScreen on this machine's devices, which share what is right for each input.
class TrialHost {
 public:
  // `open_beside`: opens the device of that name once more, for reference kernels. Called by
  // several threads.
  using DeviceOpener = std::function<std::unique_ptr<device::Device>(const std::string& name)>;
  explicit TrialHost(DeviceOpener open_beside, std::function<ProblemMaker> make = make_problem)
      : open_beside_(std::move(open_beside)), make_problem_(std::move(make)) {}

  // For one engine. This must outlive it. Thread-safe.
  std::unique_ptr<device::OffloadService> serve(device::Device& device, const std::string& name);

 private:
  class References;
  class SentKernel;
  class Run;
  class Service;

  std::shared_ptr<Run> run_of(const TrialRun& told, const std::string& device);

  DeviceOpener open_beside_;
  std::function<ProblemMaker> make_problem_;
  std::mutex mutex_;  // guards last_
  std::weak_ptr<Run> last_;
};

}  // namespace fa_tune::tuner
