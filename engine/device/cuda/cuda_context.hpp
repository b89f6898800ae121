#pragma once

#include <chrono>
#include <expected>
#include <memory>
#include <string>
#include <utility>

#include "engine/device/cuda/driver_api.hpp"
#include "engine/device/cuda/sm_partition.hpp"
#include "engine/device/device.hpp"

namespace fa_tune::cuda {

// The primary context of one GPU, or one on a part of its SMs, and a stream in it, with what is
// known of their health. Once lost (a sticky error, or a kernel that does not end) it stays lost:
// enter() then answers device_lost.
class CudaContext {
 public:
  // `sms`: how many of its SMs kernels may use; 0: all. Throws MachineError where there is no
  // GPU of that number, it cannot be used, or it gives no such part.
  CudaContext(std::shared_ptr<const DriverApi> api, int index, std::chrono::milliseconds deadline,
              int sms);
  ~CudaContext();
  CudaContext(const CudaContext&) = delete;
  CudaContext& operator=(const CudaContext&) = delete;

  const DriverApi& api() const { return *api_; }
  DriverApi const* operator->() const { return api_.get(); }
  DeviceOrdinal device() const { return device_; }
  Stream stream() const { return stream_; }
  bool lost() const { return !lost_because_.empty(); }

  // Makes the context current in the calling thread. First thing in every call of the Device.
  std::expected<void, device::Fault> enter();

  // Before giving things back: the same, whatever the health. What the driver of a dead context
  // says to that is of no use.
  void make_current() { api_->cuCtxSetCurrent(context_); }

  // Success, or the Fault for `code`; notes it if the context is dead after it. `doing` begins the
  // message: "launch", "read".
  std::expected<void, device::Fault> check(Result code, const std::string& doing);

  // Until the event has happened, or all work in the stream is done. After the deadline: a Fault
  // timeout, and the context is lost with its kernel still running.
  std::expected<void, device::Fault> wait(Event event, const std::string& doing);
  std::expected<void, device::Fault> synchronize(const std::string& doing);

  // While a kernel runs on for ever, freeing anything would wait for ever: it is left to the end of
  // the process.
  bool may_free() const { return !hung_; }

 private:
  void need(Result code, const std::string& doing) const;

  std::shared_ptr<const DriverApi> api_;
  int index_ = 0;
  std::chrono::milliseconds deadline_;
  DeviceOrdinal device_ = 0;
  Context context_ = nullptr;
  std::unique_ptr<SmPartition> part_;
  Stream stream_ = nullptr;
  Event done_ = nullptr;
  bool hung_ = false;
  std::string lost_because_;
};

// Something of the driver's that must be given back, by the function `destroy`.
template <typename T, Result (*DriverApi::*destroy)(T)>
class Owned {
 public:
  Owned() = default;
  Owned(CudaContext& context, T value) : context_(&context), value_(value) {}
  Owned(Owned&& other) noexcept { swap(other); }
  Owned& operator=(Owned&& other) noexcept {
    swap(other);
    return *this;
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (value_ != T{} && context_->may_free()) (context_->api().*destroy)(value_);
  }

  T get() const { return value_; }

 private:
  void swap(Owned& other) noexcept {
    std::swap(context_, other.context_);
    std::swap(value_, other.value_);
  }

  CudaContext* context_ = nullptr;
  T value_{};
};

using OwnedModule = Owned<Module, &DriverApi::cuModuleUnload>;
using OwnedMemory = Owned<DevicePointer, &DriverApi::cuMemFree_v2>;
using OwnedHostMemory = Owned<void*, &DriverApi::cuMemFreeHost>;
using LockedMemory = Owned<void*, &DriverApi::cuMemHostUnregister>;  // another's
using OwnedEvent = Owned<Event, &DriverApi::cuEventDestroy_v2>;
using OwnedGraph = Owned<Graph, &DriverApi::cuGraphDestroy>;
using OwnedGraphExec = Owned<GraphExec, &DriverApi::cuGraphExecDestroy>;

// cuda_info.cpp: what a GPU is. Needs no context. Throws MachineError where the driver does not
// answer.
device::DeviceInfo describe_gpu(const DriverApi& api, int index, DeviceOrdinal device);

}  // namespace fa_tune::cuda
