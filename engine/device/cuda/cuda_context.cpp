#include "engine/device/cuda/cuda_context.hpp"

#include <thread>

#include <fmt/format.h>

#include "engine/device/cuda/cuda_fault.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::cuda {

void CudaContext::need(Result code, const std::string& doing) const {
  if (code == success) return;
  throw MachineError(
      fmt::format("cuda:{} cannot be used: {}: {}", index_, doing, api_->describe(code)));
}

CudaContext::CudaContext(std::shared_ptr<const DriverApi> api, int index,
                         std::chrono::milliseconds deadline)
    : api_(std::move(api)), index_(index), deadline_(deadline) {
  int count = 0;
  need(api_->cuDeviceGetCount(&count), "cuDeviceGetCount");
  if (index < 0 || index >= count) {
    throw MachineError(count == 0
                           ? fmt::format("there is no cuda:{}: the driver sees no GPU", index)
                           : fmt::format("there is no cuda:{}: the driver sees {} GPU{}, cuda:0{}",
                                         index, count, count == 1 ? "" : "s",
                                         count == 1 ? "" : fmt::format(" to cuda:{}", count - 1)));
  }
  need(api_->cuDeviceGet(&device_, index), "cuDeviceGet");
  need(api_->cuDevicePrimaryCtxRetain(&context_, device_), "cuDevicePrimaryCtxRetain");
  try {
    need(api_->cuCtxSetCurrent(context_), "cuCtxSetCurrent");
    need(api_->cuStreamCreate(&stream_, stream_non_blocking), "cuStreamCreate");
    need(api_->cuEventCreate(&done_, event_default), "cuEventCreate");
  } catch (const MachineError&) {
    if (stream_ != nullptr) api_->cuStreamDestroy_v2(stream_);
    api_->cuDevicePrimaryCtxRelease_v2(device_);
    throw;
  }
}

CudaContext::~CudaContext() {
  if (!may_free()) return;
  make_current();
  api_->cuEventDestroy_v2(done_);
  api_->cuStreamDestroy_v2(stream_);
  api_->cuCtxSetCurrent(nullptr);
  api_->cuDevicePrimaryCtxRelease_v2(device_);
}

std::expected<void, Fault> CudaContext::enter() {
  if (lost()) {
    return std::unexpected(
        Fault{FaultKind::device_lost, fmt::format("cuda:{} was lost: {}", index_, lost_because_)});
  }
  return check(api_->cuCtxSetCurrent(context_), "cuCtxSetCurrent");
}

std::expected<void, Fault> CudaContext::check(Result code, const std::string& doing) {
  if (code == success) return {};
  Fault fault = make_fault(*api_, code, doing);
  if (is_sticky(code) && !lost()) lost_because_ = fault.message;
  return std::unexpected(std::move(fault));
}

std::expected<void, Fault> CudaContext::wait(Event event, const std::string& doing) {
  using Clock = std::chrono::steady_clock;
  constexpr auto spin = std::chrono::milliseconds(2);
  const auto start = Clock::now();
  for (;;) {
    const Result code = api_->cuEventQuery(event);
    if (code != error_not_ready) return check(code, doing);
    const auto waited = Clock::now() - start;
    if (waited > deadline_) break;
    if (waited < spin) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  hung_ = true;
  Fault fault{FaultKind::timeout,
              fmt::format("{}: not done after {} ms", doing, deadline_.count())};
  lost_because_ = fault.message;
  return std::unexpected(std::move(fault));
}

std::expected<void, Fault> CudaContext::synchronize(const std::string& doing) {
  if (auto recorded = check(api_->cuEventRecord(done_, stream_), doing); !recorded) {
    return recorded;
  }
  return wait(done_, doing);
}

}  // namespace fa_tune::cuda
