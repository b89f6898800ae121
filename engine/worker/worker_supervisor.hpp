#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/worker/remote_device.hpp"
#include "engine/worker/session.hpp"

namespace fa_tune::worker {

// The worker of a device and those that follow it: asks, finds out what became of one that does not
// answer, starts the next when it is needed, and sets the device aside where none starts any more.
class WorkerSupervisor {
 public:
  using Milliseconds = Deadlines::Milliseconds;

  // Starts the first, with `window` as its file 3. Throws what it throws when it opens the device,
  // and MachineError where it cannot be started. The window must outlive it.
  WorkerSupervisor(RemoteOptions options, Window& window);

  const device::DeviceInfo& info() const { return info_; }
  bool lost() const { return !lost_because_.empty(); }
  const std::string& lost_because() const { return reason_; }
  device::Fault lost_fault() const { return {device::FaultKind::device_lost, lost_because_}; }
  std::span<const device::Fault> deaths() const { return deaths_; }

  // Workers are counted from 1. Whether it is this one that is there; which one the next call
  // finds.
  bool is_here(int generation) const { return session_ != nullptr && generation == generation_; }
  int generation() const { return session_ ? generation_ : generation_ + 1; }

  // See Device.
  bool ready();
  bool renew();

  // A request, and the answer it must have. `doing` is for messages. Throws as throw_if_disturbed.
  template <typename Wanted>
  std::expected<Wanted, device::Fault> ask(const message::Request& request, Milliseconds deadline,
                                           const char* doing) {
    auto answer = answer_to(request, deadline, doing);
    if (!answer) return std::unexpected(std::move(answer.error()));
    if (auto* wanted = std::get_if<Wanted>(&*answer)) return std::move(*wanted);
    return std::unexpected(babbled("it answered another question", doing));
  }
  // Device::offload: the deaths there are counted here.
  std::expected<void, device::Fault> offload(const std::string& work,
                                             const device::Device::TakeAnswer& take,
                                             Milliseconds deadline);
  // Throws if what comes now says nothing of a kernel: MachineError if the last worker to end was
  // killed from outside, DeviceGone if the machine that it was on is gone.
  void throw_if_disturbed() const;
  // One that has no answer, if there is a worker. Throws nothing: it is for destructors.
  void tell(const message::Request& request) noexcept;

 private:
  // Neither Faulted nor Failed.
  std::expected<message::Answer, device::Fault> answer_to(const message::Request& request,
                                                          Milliseconds deadline, const char* doing);
  std::unique_ptr<WorkerSession> open_session() const;
  std::optional<std::string> start();
  void restart();
  void set_aside(const std::string& because);
  device::Fault ended(const WorkerTrouble& trouble, const char* doing);
  device::Fault babbled(const std::string& what, const char* doing);

  RemoteOptions options_;
  Window& window_;
  device::DeviceInfo info_;
  std::unique_ptr<WorkerSession> session_;
  int generation_ = 0;
  std::vector<device::Fault> deaths_;
  std::string lost_because_;  // with the device's name
  std::string reason_;        // without
  bool gone_ = false;         // and not at a fault of its own
};

}  // namespace fa_tune::worker
